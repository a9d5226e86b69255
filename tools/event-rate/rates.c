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

/* --- the key --- */

/* As perf spells it: "sched:sched_switch"; functions as they were named, "k:do_wp_page". */
static const char *name_event(uint32_t event, char *text, size_t size)
{
	const struct plumb_targets *t = &plumb_trace_targets.targets;
	char name[256];

	if (event < counters.n) {
		snprintf(text, size, "%s", counters.events[event].name);
		return text;
	}
	event -= counters.n;
	plumb_targets_name(t, event, false, name, sizeof(name));
	if (plumb_targets_at(t, event).kind == PLUMB_TARGET_TRACEPOINT)
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

	if (instructions >= counters.n)
		return -1;
	e = &counters.events[instructions];
	if (e->type != PERF_TYPE_HARDWARE || e->config != PERF_COUNT_HW_INSTRUCTIONS)
		return -1;
	cycles.modes = e->modes;
	for (uint32_t i = 0; i < counters.n; i++)
		if (events_are_same(&counters.events[i], &cycles))
			return i;
	return -1;
}

static bool is_clock(uint32_t event)
{
	return event < counters.n && event_is_clock(&counters.events[event]);
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

static const struct plumb_column all_columns[] = {
	{"ipc", PLUMB_COLUMN_RATIO,
	 "Of instructions, if cycles are counted, too: instructions per cycle.", .id = IPC,
	 .value = column_value},
	{"cpus", PLUMB_COLUMN_RATIO,
	 "Of cpu-clock and task-clock: the CPUs that were used, on average.", .id = CPUS,
	 .value = column_value},
};

void rates_lay_out_columns(struct plumb_tool *tool)
{
	static struct plumb_column columns[3];
	bool has[] = {[IPC] = false, [CPUS] = false};
	size_t n = 0;

	for (uint32_t i = 0; i < counters.n; i++) {
		has[IPC] |= find_cycles(i) >= 0;
		has[CPUS] |= is_clock(i);
	}
	for (size_t i = 0; i < 2; i++)
		if (has[i])
			columns[n++] = all_columns[i];
	tool->measure.columns = columns;
}

/* --- JSON and footer --- */

static double percent_of(const struct rate_state *s)
{
	return s->enabled ? 100.0 * s->running / s->enabled : 100;
}

uint32_t rates_after(void)
{
	return counters_of(PERF_COUNT_SW_CONTEXT_SWITCHES, false) |
	       counters_of(CGROUP_SWITCHES, true) | counters_of(CGROUP_SWITCHES, false);
}

/* A bit for each clock, unless all events are clocks. */
uint32_t rates_clocks(void)
{
	uint32_t clocks = 0, n = 0;

	for (uint32_t i = 0; i < counters.n; i++)
		if (is_clock(i)) {
			clocks |= 1U << i;
			n++;
		}
	return n == counters.n + plumb_trace_targets.targets.n ? 0 : clocks;
}

void rates_add_json(json_t *json, const struct plumb_report *r)
{
	json_t *all = json_array();
	const struct event *e;
	struct rate_state s;

	for (uint32_t i = 0; i < counters.n; i++) {
		e = &counters.events[i];
		s = counters_state(r->run->instance.bpf.object, i);
		/* Of other events nobody compares. */
		json_array_append_new(
			all,
			json_pack("{s:s, s:s, s:f, s:o, s:o, s:o}", "event", e->name, "kind",
				  event_kind(e), "counted_percent", percent_of(&s), "unread",
				  plumb_json_u64(s.unread), "surplus",
				  rates_after() & 1U << i ? plumb_json_u64(s.surplus) : json_null(),
				  "pooled",
				  rates_clocks() & 1U << i ? plumb_json_u64(s.pooled)
							   : json_null()));
	}
	json_object_set_new(json, "counters", all);
}

void rates_print_counters(const struct bpf_object *object, FILE *out)
{
	struct rate_state s;
	const char *name;
	char time[32];

	for (uint32_t i = 0; i < counters.n; i++) {
		name = counters.events[i].name;
		s = counters_state(object, i);
		if (s.running < s.enabled)
			fprintf(out, "scaled: %s counted %.0f %% of the time\n", name,
				percent_of(&s));
		if (s.unread)
			fprintf(out,
				"not counted: %s, %llu"
				" times that a thread ran (on a CPU that came online later)\n",
				name, (unsigned long long)s.unread);
		if (s.surplus)
			fprintf(out, "not counted: %s, %llu events beyond one for each switch\n",
				name, (unsigned long long)s.surplus);
		if (s.pooled)
			fprintf(out, "not in [other]: %s, %s\n", name,
				plumb_format_time(s.pooled, PLUMB_AUTO, time, sizeof(time)));
	}
}

static void warn_silent(const struct plumb_snapshot *total, uint64_t elapsed)
{
	size_t n = counters.n + plumb_trace_targets.targets.n, silent = n;
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
	for (uint32_t i = 0; i < counters.n; i++)
		unread += counters_state(object, i).unread;
	if (unread)
		plumb_cpus_note_lost();
}
