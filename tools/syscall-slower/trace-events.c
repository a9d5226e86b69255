/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls as trace events: complete events ("X") of threads, with times in microseconds. */
#include "slower.h"

#include <plumb/core/json.h>
#include <plumb/core/reasons.h>
#include <plumb/pictures/trace-events.h>
#include <plumb/split/split.h>
#include <plumb/syscalls/syscalls.h>

/* The parts are arguments: as slices they would have an order, which is not known. */
static json_t *call_event(const struct kept_call *c, uint64_t start)
{
	json_t *args = json_object();
	char name[64];

	json_object_set_new(args, "in_flight", json_boolean(c->in_flight));
	if (!c->in_flight) {
		json_object_set_new(args, "ret", json_integer(c->ret));
		json_object_set_new(args, "cpu", json_integer(c->cpu));
	}
	if (c->ret < 0 && c->ret >= -4095)
		json_object_set_new(args, "error", json_string(plumb_errno_name(c->ret)));
	for (size_t i = 0; i <= PLUMB_RETURN_PARTS && !c->in_flight; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%s_ns", plumb_return_parts[i].json);
		json_object_set_new(args, text,
				    plumb_json_u64(c->parts[plumb_return_parts[i].part]));
	}
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:o}", "ph", "X", "cat", "syscall",
			 "name", plumb_syscall_name(c->nr, c->abi, name, sizeof(name)), "pid",
			 (json_int_t)c->pid, "tid", (json_int_t)c->tid, "ts",
			 (c->begin - start) / 1000.0, "dur", c->ns / 1000.0, "args", args);
}

static void add_calls(struct plumb_trace *trace, const void *timeline)
{
	const struct timeline *t = timeline;
	bool is_named = false;

	for (size_t i = 0; i < t->kept->n; i++) {
		const struct kept_call *c = &t->kept->calls[i];
		const bool is_last = i + 1 == t->kept->n || c[1].tid != c->tid;

		plumb_trace_add(trace, call_event(c, t->start));
		/* The last name. */
		if (is_last)
			plumb_trace_name(trace, "thread_name", c->pid, c->tid, c->comm);
		/* The main thread, the first one, has the name of the process, if it has calls. */
		if (!i || c[-1].pid != c->pid)
			is_named = false;
		if (is_last && !is_named) {
			plumb_trace_name(trace, "process_name", c->pid, c->tid, c->comm);
			is_named = true;
		}
	}
}

int timeline_trace(void *timeline, FILE *out)
{
	const struct timeline *t = timeline;

	return plumb_trace_write(t->report, "shorter_calls_left_out", t->kept->dropped, out,
				 add_calls, t);
}
