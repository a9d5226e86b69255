/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/recorder/kept.h>
#include <plumb/recorder/trigger.h>

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
	uint64_t not_judged;   /* intervals, by one of them at least */
	/* The one that holds. */
	const struct plumb_trigger *held;
	uint64_t value, elapsed, seq, due_at;
	json_t *row; /* the key of its row; NULL: it is about none */
	bool due;
} triggers;

/* How many intervals --after is. */
static uint64_t intervals_after(const struct plumb_options *o)
{
	return (o->keep.after + o->keep.interval - 1) / o->keep.interval;
}

static const struct plumb_trigger *parse_trigger(const char *text, const struct plumb_options *o,
						 const struct plumb_tool *tool)
{
	struct plumb_trigger *t = &triggers.all[triggers.n++];
	char why[256];

	if (plumb_trigger_parse(text, tool, t, why, sizeof(why)))
		plumb_usage_error("--trigger=%s: %s", text, why);
	if (t->kind == PLUMB_TIMES_MEDIAN && o->keep.time &&
	    plumb_kept_most(o) < PLUMB_MEDIAN_LEAST)
		plumb_usage_error("--trigger=%s: it never holds, a median is of at least %d "
				  "intervals and --keep has %llu",
				  text, PLUMB_MEDIAN_LEAST, (unsigned long long)plumb_kept_most(o));
	return t;
}

/* Rows without calls are absent, unless they are named. */
static void check_count(const struct plumb_trigger *t, const struct plumb_options *o)
{
	if (t->term == PLUMB_TERM_COUNT && t->kind == PLUMB_PLAIN && t->below && !o->keep.key &&
	    t->value < (t->or_equal ? 1000 : 1001))
		plumb_usage_error("--trigger=%s: it never holds, a row without calls is absent: "
				  "name it by --trigger-key",
				  t->text);
}

/* The interval in which a trigger holds has to be kept still when it is dumped. */
static void check_after(const struct plumb_options *o)
{
	if (o->keep.time && intervals_after(o) >= plumb_kept_most(o))
		plumb_usage_error("--after: the dump would lack the interval in which the trigger "
				  "held: --keep has %llu, and %llu come after it",
				  (unsigned long long)plumb_kept_most(o),
				  (unsigned long long)intervals_after(o));
}

void triggers_parse(const struct plumb_options *o, const struct plumb_tool *tool)
{
	char why[256], *key;

	triggers.options = o;
	for (size_t i = 0; i < o->keep.n_triggers; i++)
		check_count(parse_trigger(o->keep.triggers[i], o, tool), o);
	check_after(o);
	if (!o->keep.key)
		return;
	key = strdup(o->keep.key);
	if (!key || plumb_trigger_key_parse(key, tool, o->by, &triggers.key, why, sizeof(why)))
		plumb_usage_error("--trigger-key=%s: %s", o->keep.key, why);
}

uint64_t triggers_plan(size_t most, size_t slots)
{
	uint64_t bytes = 0;

	/* The values of the interval that is evaluated are not among those before. */
	triggers.most = most = most + 1;
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

/* Why a trigger that holds is passed over; NULL: it is not. */
static const char *passed_over(const struct plumb_report *r)
{
	if (triggers.held)
		return "one is remembered";
	return r->snap->clock < triggers.rests_until ? "within --cool-down" : NULL;
}

static void hold(const struct plumb_trigger *t, uint64_t value, const struct plumb_report *r,
		 const struct plumb_row *row)
{
	const char *why = passed_over(r);

	if (triggers.held && triggers.seq == r->seq)
		return;
	plumb_info("%s: holds in interval %llu, %llu%s%s", t->text, (unsigned long long)r->seq,
		   (unsigned long long)value, why ? ", no dump: " : "", why ?: "");
	if (why)
		return;
	triggers.held = t;
	triggers.value = value;
	triggers.elapsed = r->elapsed;
	triggers.seq = r->seq;
	triggers.due_at = r->snap->clock + triggers.options->keep.after;
	triggers.row = row ? plumb_json_key(r->run, row) : NULL;
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
	const uint64_t interval = r->run->options.sample;
	bool any = false;

	forget_oldest(i);
	for (size_t j = 0; j < r->snap->n; j++) {
		const struct plumb_row *row = &r->snap->rows[j];
		uint64_t *before = values_of(i, row->slot);
		const uint64_t value = plumb_trigger_value(t, row);

		if (!plumb_trigger_key_matches(&triggers.key, row))
			continue;
		any = true;
		if (plumb_trigger_holds(t, value, r->elapsed, interval, before,
					before ? triggers.most : 0))
			hold(t, value, r, row);
		if (before && r->elapsed)
			before[triggers.now] =
				plumb_trigger_for_median(t, value, r->elapsed, interval);
	}
	/* Rows that were named and are not there have no calls. */
	if (!any && triggers.key.n && t->term >= PLUMB_TERM_TOTAL &&
	    plumb_trigger_holds(t, 0, r->elapsed, interval, NULL, 0))
		hold(t, 0, r, NULL);
}

/* What was lost or missed in the interval; while calls run, the total may also become less. */
static uint64_t since(uint64_t total, uint64_t *last)
{
	const uint64_t more = total > *last ? total - *last : 0;

	*last = total;
	return more;
}

/* One that cannot be judged is said. */
static bool can_judge(const struct plumb_trigger *t, const struct plumb_report *r)
{
	const uint64_t interval = r->run->options.sample;

	if (plumb_trigger_can_judge(t, r->elapsed, interval))
		return true;
	plumb_info("%s: interval %llu is not judged, it lasted %.3f s of %.3f s", t->text,
		   (unsigned long long)r->seq, r->elapsed / 1e9, interval / 1e9);
	return false;
}

static void evaluate_all(const struct plumb_report *r, uint64_t lost, uint64_t missed)
{
	bool judged = true;

	for (size_t i = 0; i < triggers.n; i++) {
		const struct plumb_trigger *t = &triggers.all[i];
		const uint64_t value = t->term == PLUMB_TERM_LOST ? lost : missed;

		judged &= can_judge(t, r);
		if (plumb_trigger_is_of_rows(t))
			evaluate_rows(i, r);
		else if (plumb_trigger_holds(t, value, r->elapsed, r->run->options.sample, NULL, 0))
			hold(t, value, r, NULL);
	}
	triggers.not_judged += !judged;
	triggers.now = (triggers.now + 1) % (triggers.most ?: 1);
}

/* By its own length: an interval is shorter where the one before ended late. */
void triggers_evaluate(const struct plumb_report *interval)
{
	uint64_t lost, missed;

	if (!triggers.n)
		return;
	lost = since(plumb_ledger_judge(interval->total).lost, &triggers.lost);
	missed = since(interval->total->missed, &triggers.missed);
	evaluate_all(interval, lost, missed);
	/* By the number, too: when an interval ends varies a little. */
	triggers.due = triggers.held &&
		       (interval->snap->clock >= triggers.due_at ||
			interval->seq >= triggers.seq + intervals_after(triggers.options));
}

bool triggers_are_due(void)
{
	return triggers.due;
}

void triggers_end(void)
{
	triggers.due = triggers.held;
}

void triggers_count(json_t *dump)
{
	if (triggers.n)
		json_object_set_new(dump, "not_judged", plumb_json_u64(triggers.not_judged));
}

void triggers_describe(json_t *dump)
{
	json_object_set_new(dump, "why", json_string("trigger"));
	json_object_set_new(dump, "trigger", plumb_json_text(triggers.held->text));
	json_object_set_new(dump, "seq", plumb_json_u64(triggers.seq));
	json_object_set_new(dump, "value",
			    triggers.held->kind == PLUMB_PER_SECOND
				    ? json_real(triggers.value * 1e9 / triggers.elapsed)
				    : plumb_json_u64(triggers.value));
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
