/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "reading/ledger.h"
#include <plumb/core/json.h>

static bool scan_cpus(struct scan *s, void *to, struct line *line)
{
	struct ledger *l = to;

	l->cpus_unknown = scan_null(s);
	return l->cpus_unknown || scan_bool(s, &l->cpus_changed);
}

#define COUNTER(i, name)                                                                           \
	[i] = {NAME(name), .kind = NATURAL_OR_NULL, .at = offsetof(struct ledger, n[i]),           \
	       .null_at = offsetof(struct ledger, unknown[i])}

static const struct field fields[LEDGER_COUNTERS + 1] = {
	COUNTER(LEDGER_RECORDED, "recorded"),
	COUNTER(LEDGER_LOST, "lost"),
	COUNTER(LEDGER_POOLED, "pooled"),
	COUNTER(LEDGER_AT_LEAST, "lost_at_least"),
	COUNTER(LEDGER_ENTRY_LOST, "entry_lost"),
	COUNTER(LEDGER_EXIT_LOST, "exit_lost"),
	COUNTER(LEDGER_BOTH_LOST, "both_lost"),
	COUNTER(LEDGER_IN_FLIGHT, "in_flight"),
	COUNTER(LEDGER_ABANDONED, "abandoned"),
	COUNTER(LEDGER_OBSERVED, "exit_lost_observed"),
	COUNTER(LEDGER_SATURATED, "saturated"),
#define NONE(name)
#define ENTRY(name, ...) COUNTER(LEDGER_##name, #name),
	PLUMB_LEDGER_COUNTERS(NONE, ENTRY)
#undef NONE
#undef ENTRY
		COUNTER(LEDGER_MISSED, "missed"),
	[LEDGER_COUNTERS] = {NAME("cpus_changed"), .scan = scan_cpus},
};

_Static_assert(LEDGER_COUNTERS < 31, "scan_object() has a bit for each");

bool ledger_scan(struct scan *s, struct ledger *l)
{
	const unsigned int needed = 1 << LEDGER_RECORDED | 1 << LEDGER_LOST;
	unsigned int seen = scan_object(s, fields, LEDGER_COUNTERS + 1, l, NULL,
					"a member of the ledger is there twice");

	if (l->unknown[LEDGER_LOST])
		l->n[LEDGER_LOST] = l->n[LEDGER_AT_LEAST];
	if (!s->error && ((seen & needed) != needed || l->unknown[LEDGER_RECORDED]))
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
	to->cpus_changed |= l->cpus_changed;
	to->cpus_unknown |= l->cpus_unknown;
}

json_t *ledger_json(const struct ledger *l)
{
	json_t *j = json_object();

	for (size_t i = 0; i < LEDGER_COUNTERS; i++)
		json_object_set_new(j, fields[i].name.text,
				    l->unknown[i] ? json_null() : plumb_json_u64(l->n[i]));
	json_object_set_new(j, "cpus_changed",
			    l->cpus_unknown && !l->cpus_changed ? json_null()
								: json_boolean(l->cpus_changed));
	return j;
}
