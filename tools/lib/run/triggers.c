/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "triggers.h"

#include <errno.h>
#include <plumb/base/json.h>
#include <plumb/base/log.h>
#include <plumb/report/trigger.h>
#include <stdlib.h>
#include <string.h>

static struct {
	const struct plumb_options *options;
	struct plumb_trigger all[PLUMB_MAX_TRIGGERS];
	size_t n;
	struct plumb_trigger_key key;
	/* Of each that compares with medians, the values of MOST intervals for each slot. */
	uint64_t *values[PLUMB_MAX_TRIGGERS];
	size_t most, slots, now;
	uint64_t lost, missed; /* as of the last interval */
	uint64_t rests_until;  /* ns, CLOCK_MONOTONIC */
	/* The one that holds. */
	const struct plumb_trigger *held;
	uint64_t value, due_at;
	json_t *row; /* the key of its row; NULL: it is about none */
	bool due;
} triggers;

void triggers_parse(const struct plumb_options *o, const struct plumb_tool *tool)
{
	char why[256], *key;

	triggers.options = o;
	for (size_t i = 0; i < o->keep.n_triggers; i++)
		if (plumb_trigger_parse(o->keep.triggers[i], tool, &triggers.all[triggers.n++], why,
					sizeof(why)))
			plumb_usage_error("--trigger=%s: %s", o->keep.triggers[i], why);
	if (!o->keep.key)
		return;
	key = strdup(o->keep.key);
	if (!key || plumb_trigger_key_parse(key, tool, o->by, &triggers.key, why, sizeof(why)))
		plumb_usage_error("--trigger-key=%s: %s", o->keep.key, why);
}

uint64_t triggers_plan(size_t most, size_t slots)
{
	uint64_t bytes = 0;

	triggers.most = most;
	triggers.slots = slots;
	for (size_t i = 0; i < triggers.n; i++)
		if (triggers.all[i].kind == PLUMB_TIMES_MEDIAN)
			bytes += most * slots * sizeof(*triggers.values[i]);
	return bytes;
}

int triggers_open(const struct plumb_options *o)
{
	const size_t n = triggers.most * triggers.slots;

	triggers.options = o;
	for (size_t i = 0; i < triggers.n; i++) {
		if (triggers.all[i].kind != PLUMB_TIMES_MEDIAN)
			continue;
		triggers.values[i] = malloc(n * sizeof(*triggers.values[i]));
		if (!triggers.values[i])
			return -ENOMEM;
		for (size_t j = 0; j < n; j++)
			triggers.values[i][j] = PLUMB_NO_VALUE;
	}
	return 0;
}

void triggers_free(void)
{
	for (size_t i = 0; i < triggers.n; i++)
		free(triggers.values[i]);
	json_decref(triggers.row);
	triggers.n = 0;
}

static void hold(const struct plumb_trigger *t, uint64_t value, const struct plumb_report *r,
		 const struct plumb_row *row)
{
	if (triggers.held || r->snap->clock < triggers.rests_until)
		return;
	triggers.held = t;
	triggers.value = value;
	triggers.due_at = r->snap->clock + triggers.options->keep.after;
	triggers.row = row ? plumb_json_key(r->run, row) : NULL;
	plumb_info("%s: holds, %llu", t->text, (unsigned long long)value);
}

/* The earlier values of the row in SLOT; NULL: none are needed. */
static uint64_t *values_of(size_t trigger, uint32_t slot)
{
	uint64_t *values = triggers.values[trigger];

	return values && slot < triggers.slots ? values + slot * triggers.most : NULL;
}

static void forget_oldest(size_t trigger)
{
	for (size_t slot = 0; triggers.values[trigger] && slot < triggers.slots; slot++)
		values_of(trigger, slot)[triggers.now] = PLUMB_NO_VALUE;
}

static void evaluate_rows(size_t i, const struct plumb_report *r)
{
	const struct plumb_trigger *t = &triggers.all[i];
	bool any = false;

	forget_oldest(i);
	for (size_t j = 0; j < r->snap->n; j++) {
		const struct plumb_row *row = &r->snap->rows[j];
		uint64_t *before = values_of(i, row->slot);
		const uint64_t value = plumb_trigger_value(t, row);

		if (!plumb_trigger_key_matches(&triggers.key, row))
			continue;
		any = true;
		if (plumb_trigger_holds(t, value, r->elapsed, before, before ? triggers.most : 0))
			hold(t, value, r, row);
		if (before)
			before[triggers.now] = value;
	}
	/* Rows that were named and are not there have no calls. */
	if (!any && triggers.key.n && t->term >= PLUMB_TERM_TOTAL &&
	    plumb_trigger_holds(t, 0, r->elapsed, NULL, 0))
		hold(t, 0, r, NULL);
}

/* What was lost or missed in the interval; while calls run, the total may also become less. */
static uint64_t since(uint64_t total, uint64_t *last)
{
	const uint64_t more = total > *last ? total - *last : 0;

	*last = total;
	return more;
}

static void evaluate_all(const struct plumb_report *r, uint64_t lost, uint64_t missed)
{
	for (size_t i = 0; i < triggers.n; i++) {
		const struct plumb_trigger *t = &triggers.all[i];
		const uint64_t value = t->term == PLUMB_TERM_LOST ? lost : missed;

		if (plumb_trigger_is_of_rows(t))
			evaluate_rows(i, r);
		else if (plumb_trigger_holds(t, value, r->elapsed, NULL, 0))
			hold(t, value, r, NULL);
	}
	triggers.now = (triggers.now + 1) % (triggers.most ?: 1);
}

void triggers_evaluate(const struct plumb_report *interval)
{
	uint64_t lost, missed;

	if (!triggers.n)
		return;
	lost = since(plumb_ledger_judge(interval->total).lost, &triggers.lost);
	missed = since(interval->total->missed, &triggers.missed);
	/* The first interval may be cut short (--start-at). */
	if (interval->elapsed >= interval->run->options->sample / 100 * 99)
		evaluate_all(interval, lost, missed);
	triggers.due = triggers.held && interval->snap->clock >= triggers.due_at;
}

bool triggers_are_due(void)
{
	return triggers.due;
}

void triggers_end(void)
{
	triggers.due = triggers.held;
}

void triggers_describe(json_t *dump)
{
	json_object_set_new(dump, "why", json_string("trigger"));
	json_object_set_new(dump, "trigger", plumb_json_text(triggers.held->text));
	json_object_set_new(dump, "value", plumb_json_u64(triggers.value));
	json_object_set(dump, "key", triggers.row ?: json_null());
}

void triggers_rest(uint64_t now)
{
	triggers.rests_until = now + triggers.options->keep.cool_down;
	json_decref(triggers.row);
	triggers.row = NULL;
	triggers.held = NULL;
	triggers.due = false;
}
