/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rates.h"

#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/function/trace-targets.h>
#include <plumb/core/cpus.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/targets/trace-targets.h>

struct counters rates_counters = {.cpus = -1};

/* --- the key --- */

/* As perf spells it: "sched:sched_switch"; functions as they were named, "k:do_wp_page". */
static const char *name_event(uint32_t event, char *text, size_t size)
{
	const struct plumb_targets *t = &plumb_trace_targets.targets;
	char name[256];

	if (event < rates_counters.n) {
		snprintf(text, size, "%s", rates_counters.events[event].name);
		return text;
	}
	event -= rates_counters.n;
	plumb_targets_name(t, event, false, name, sizeof(name));
	if (plumb_targets_kind(t, event) == PLUMB_TARGET_TRACEPOINT)
		snprintf(text, size, "%s", name + strlen("t:"));
	else
		snprintf(text, size, "k:%s", name);
	return text;
}

static void format_event(const void *key, char *text, size_t size)
{
	name_event(((const struct event_rate_key *)key)->event, text, size);
}

const struct plumb_field rates_field = {"event", PLUMB_BY_TARGET, .format = format_event};

/* --- columns --- */

enum { IPC, CPUS };

/* The counter of CONFIG in the same modes as event INSTRUCTIONS, if that is what it counts. */
static int find_cycles(uint32_t instructions)
{
	struct event cycles = {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES};
	const struct event *e;

	if (instructions >= rates_counters.n)
		return -1;
	e = &rates_counters.events[instructions];
	if (e->type != PERF_TYPE_HARDWARE || e->config != PERF_COUNT_HW_INSTRUCTIONS)
		return -1;
	cycles.modes = e->modes;
	for (uint32_t i = 0; i < rates_counters.n; i++)
		if (events_are_same(&rates_counters.events[i], &cycles))
			return i;
	return -1;
}

static bool is_clock(uint32_t event)
{
	return event < rates_counters.n && event_is_clock(&rates_counters.events[event]);
}

/* Cycles of the row's thread or group, if the row is of instructions. */
static uint64_t cycles_of(const struct plumb_report *r, const struct plumb_row *row)
{
	struct event_rate_key wanted = *(const struct event_rate_key *)row->key;
	int cycles = find_cycles(wanted.event);

	if (cycles < 0)
		return 0;
	wanted.event = cycles;
	for (size_t i = 0; i < r->snap->n; i++)
		if (r->snap->rows[i].slot && !memcmp(r->snap->rows[i].key, &wanted, sizeof(wanted)))
			return r->snap->rows[i].count;
	return 0;
}

static double column_value(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	uint32_t event = row->slot ? ((const struct event_rate_key *)row->key)->event : UINT32_MAX;
	uint64_t of = 0;

	if (id == CPUS && is_clock(event))
		of = r->elapsed;
	if (id == IPC && row->slot)
		of = cycles_of(r, row);
	return of ? (double)row->count / of : NAN;
}

void rates_lay_out_columns(struct plumb_tool *tool)
{
	static const struct plumb_column ipc = {
		"ipc",
		PLUMB_COLUMN_RATIO,
		"Of instructions, if cycles are counted, too: instructions per cycle.",
		IPC,
		column_value,
		NULL};
	static const struct plumb_column cpus = {
		"cpus",
		PLUMB_COLUMN_RATIO,
		"Of cpu-clock and task-clock: the CPUs that were used, on average.",
		CPUS,
		column_value,
		NULL};
	static struct plumb_column columns[3];
	size_t n = 0;
	bool has_clocks = false, has_ipc = false;

	for (uint32_t i = 0; i < rates_counters.n; i++) {
		has_clocks |= is_clock(i);
		has_ipc |= find_cycles(i) >= 0;
	}
	if (has_ipc)
		columns[n++] = ipc;
	if (has_clocks)
		columns[n++] = cpus;
	tool->measure.columns = columns;
}

/* --- JSON and footer --- */

static double percent_of(const struct rate_state *s)
{
	return s->enabled ? 100.0 * s->running / s->enabled : 100;
}

uint32_t rates_after(void)
{
	return counters_of(&rates_counters, PERF_COUNT_SW_CONTEXT_SWITCHES, false) |
	       counters_of(&rates_counters, CGROUP_SWITCHES, true) |
	       counters_of(&rates_counters, CGROUP_SWITCHES, false);
}

void rates_add_json(json_t *json, const struct plumb_report *r)
{
	json_t *all = json_array(), *one;
	struct rate_state s;

	for (uint32_t i = 0; i < rates_counters.n; i++) {
		s = counters_state(&rates_counters, r->run->instance.bpf.object, i);
		one = json_object();
		json_object_set_new(one, "event", json_string(rates_counters.events[i].name));
		json_object_set_new(one, "kind",
				    json_string(event_kind(&rates_counters.events[i])));
		json_object_set_new(one, "counted_percent", json_real(percent_of(&s)));
		json_object_set_new(one, "unread", plumb_json_u64(s.unread));
		/* Of other events nobody compares. */
		json_object_set_new(one, "surplus",
				    rates_after() & 1U << i ? plumb_json_u64(s.surplus)
							    : json_null());
		json_array_append_new(all, one);
	}
	json_object_set_new(json, "counters", all);
}

void rates_print_counters(const struct bpf_object *object, FILE *out)
{
	struct rate_state s;

	for (uint32_t i = 0; i < rates_counters.n; i++) {
		s = counters_state(&rates_counters, object, i);
		if (s.running < s.enabled)
			fprintf(out, "scaled: %s counted %.0f %% of the time\n",
				rates_counters.events[i].name, percent_of(&s));
		if (s.unread)
			fprintf(out,
				"not counted: %s, %llu"
				" times that a thread ran (on a CPU that came online later)\n",
				rates_counters.events[i].name, (unsigned long long)s.unread);
		if (s.surplus)
			fprintf(out, "not counted: %s, %llu events beyond one for each switch\n",
				rates_counters.events[i].name, (unsigned long long)s.surplus);
	}
}

static void warn_silent(const struct plumb_snapshot *total, uint64_t elapsed)
{
	size_t n = rates_counters.n + plumb_trace_targets.targets.n, silent = n;
	bool *occurred = calloc(n, sizeof(*occurred));
	char name[256], time[32];
	uint32_t event;

	plumb_format_time(elapsed, PLUMB_AUTO, time, sizeof(time));
	for (size_t i = 0; occurred && i < total->n; i++) {
		if (!total->rows[i].slot) { /* [other]: it may be any */
			free(occurred);
			return;
		}
		event = ((const struct event_rate_key *)total->rows[i].key)->event;
		silent -= total->rows[i].count && !occurred[event];
		occurred[event] |= total->rows[i].count;
	}
	if (occurred && silent > PLUMB_FEW)
		plumb_warn("%zu of %zu events: 0 in %s", silent, n, time);
	for (size_t i = 0; occurred && silent <= PLUMB_FEW && i < n; i++)
		if (!occurred[i])
			plumb_warn("%s: 0 events in %s", name_event(i, name, sizeof(name)), time);
	free(occurred);
}

void rates_finish(const struct plumb_snapshot *total, uint64_t elapsed,
		  const struct bpf_object *object)
{
	uint64_t unread = 0;

	warn_silent(total, elapsed);
	for (uint32_t i = 0; i < rates_counters.n; i++)
		unread += counters_state(&rates_counters, object, i).unread;
	if (unread)
		plumb_cpus_note_lost();
}
