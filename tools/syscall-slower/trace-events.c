/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls as trace events: complete events ("X") of threads, with times in microseconds. */
#include "slower.h"

#include <errno.h>
#include <plumb/core/inflight.h>
#include <plumb/core/json.h>
#include <plumb/core/reasons.h>
#include <plumb/core/text.h>
#include <plumb/core/verdict.h>
#include <plumb/split/split.h>
#include <plumb/syscalls/syscalls.h>

static int print(json_t *event, const char *before, FILE *out)
{
	int err;

	fputs(before, out);
	err = json_dumpf(event, out, JSON_COMPACT | JSON_REAL_PRECISION(17)) ? -(errno ?: EIO) : 0;
	json_decref(event);
	return err;
}

/* "M": metadata, such as the name of a thread. */
static json_t *name_event(const char *what, const struct kept_call *c)
{
	char comm[PLUMB_ESCAPED];

	plumb_escape(comm, c->comm, sizeof(comm));
	return json_pack("{s:s, s:s, s:I, s:I, s:{s:s}}", "ph", "M", "name", what, "pid",
			 (json_int_t)c->pid, "tid", (json_int_t)c->tid, "args", "name", comm);
}

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

static json_t *about(const struct timeline *t)
{
	const struct plumb_verdict v = plumb_ledger_judge(t->report->total);
	json_t *json = plumb_json_new(t->report->run->tool->card.name);

	json_object_del(json, "schema");
	json_object_set_new(json, "recorded", plumb_json_u64(v.recorded));
	json_object_set_new(json, "lost",
			    t->report->total->missed_known ? plumb_json_u64(v.lost) : json_null());
	json_object_set_new(json, "lost_at_least", plumb_json_u64(v.at_least));
	json_object_set_new(json, "in_flight", plumb_json_u64(t->report->flights->n));
	json_object_set_new(json, "shorter_calls_left_out", plumb_json_u64(t->kept->dropped));
	return json;
}

int timeline_trace(void *timeline, FILE *out)
{
	const struct timeline *t = timeline;
	int err = print(about(t), "{\"displayTimeUnit\":\"ns\",\"otherData\":", out);

	bool is_named = false;

	fputs(",\"traceEvents\":[", out);
	for (size_t i = 0; !err && i < t->kept->n; i++) {
		const struct kept_call *c = &t->kept->calls[i];
		const bool is_last = i + 1 == t->kept->n || c[1].tid != c->tid;

		err = print(call_event(c, t->start), i ? ",\n" : "\n", out);
		/* The last name. */
		if (!err && is_last)
			err = print(name_event("thread_name", c), ",\n", out);
		/* The main thread, the first one, has the name of the process, if it has calls. */
		if (!i || c[-1].pid != c->pid)
			is_named = false;
		if (!err && is_last && !is_named) {
			err = print(name_event("process_name", c), ",\n", out);
			is_named = true;
		}
	}
	fputs("\n]}\n", out);
	return err;
}
