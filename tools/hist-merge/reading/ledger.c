/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "reading/ledger.h"
#include <plumb/core/json.h>

static const char *const names[LEDGER_COUNTERS] = {
	[LEDGER_RECORDED] = "recorded",     [LEDGER_LOST] = "lost",
	[LEDGER_POOLED] = "pooled",         [LEDGER_AT_LEAST] = "lost_at_least",
	[LEDGER_ENTRY_LOST] = "entry_lost", [LEDGER_EXIT_LOST] = "exit_lost",
	[LEDGER_BOTH_LOST] = "both_lost",   [LEDGER_IN_FLIGHT] = "in_flight",
	[LEDGER_ABANDONED] = "abandoned",   [LEDGER_OBSERVED] = "exit_lost_observed",
	[LEDGER_SATURATED] = "saturated",
#define NONE(name)
#define ENTRY(name, ...) [LEDGER_##name] = #name,
	PLUMB_LEDGER_COUNTERS(NONE, ENTRY)
#undef NONE
#undef ENTRY
};

static size_t find(struct span name)
{
	size_t i = 0;

	while (i < LEDGER_COUNTERS && !span_is(name, names[i]))
		i++;
	return i;
}

bool ledger_scan(struct scan *s, struct ledger *l)
{
	bool seen[LEDGER_COUNTERS + 2] = {false}, is_null;
	struct span name, ignored;
	size_t i;

	*l = (struct ledger){0};
	for (bool more = scan_begin(s, '{'); more; more = scan_more(s, '}')) {
		if (!scan_member(s, &name))
			return false;
		i = span_is(name, "missed")         ? LEDGER_COUNTERS
		    : span_is(name, "cpus_changed") ? LEDGER_COUNTERS + 1
						    : find(name);
		if (i == LEDGER_COUNTERS && !span_is(name, "missed")) {
			scan_value(s, &ignored);
			continue;
		}
		if (seen[i])
			return scan_fail(s, "a member of the ledger is there twice");
		seen[i] = true;
		is_null = i >= LEDGER_LOST && scan_null(s);
		*(i < LEDGER_COUNTERS   ? &l->unknown[i]
		  : i > LEDGER_COUNTERS ? &l->cpus_unknown
					: &l->missed_unknown) = is_null;
		if (is_null)
			continue;
		if (i > LEDGER_COUNTERS)
			scan_bool(s, &l->cpus_changed);
		else
			scan_natural(s, i < LEDGER_COUNTERS ? &l->n[i] : &l->missed);
	}
	if (l->unknown[LEDGER_LOST])
		l->n[LEDGER_LOST] = l->n[LEDGER_AT_LEAST];
	if (!s->error && (!seen[LEDGER_RECORDED] || !seen[LEDGER_LOST]))
		return scan_fail(s, "the ledger has no recorded or lost");
	return !s->error;
}

uint64_t ledger_sum(uint64_t a, uint64_t b)
{
	return b > INT64_MAX - a ? INT64_MAX : a + b;
}

void ledger_add(struct ledger *to, const struct ledger *l)
{
	for (size_t i = 0; i < LEDGER_COUNTERS; i++) {
		to->n[i] = ledger_sum(to->n[i], l->n[i]);
		to->unknown[i] |= l->unknown[i];
	}
	to->missed = ledger_sum(to->missed, l->missed);
	to->missed_unknown |= l->missed_unknown;
	to->cpus_changed |= l->cpus_changed;
	to->cpus_unknown |= l->cpus_unknown;
}

json_t *ledger_json(const struct ledger *l)
{
	json_t *j = json_object();

	for (size_t i = 0; i < LEDGER_COUNTERS; i++)
		json_object_set_new(j, names[i],
				    l->unknown[i] ? json_null() : plumb_json_u64(l->n[i]));
	json_object_set_new(j, "missed",
			    l->missed_unknown ? json_null() : plumb_json_u64(l->missed));
	json_object_set_new(j, "cpus_changed",
			    l->cpus_unknown && !l->cpus_changed ? json_null()
								: json_boolean(l->cpus_changed));
	return j;
}
