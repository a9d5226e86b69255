/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/pictures/trace-events.h>

#include <errno.h>
#include <plumb/core/inflight.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>
#include <plumb/core/verdict.h>

static void print(struct plumb_trace *t, json_t *json, const char *before)
{
	if (!t->err) {
		fputs(before, t->out);
		if (json_dumpf(json, t->out, JSON_COMPACT | JSON_REAL_PRECISION(17)))
			t->err = -(errno ?: EIO);
	}
	json_decref(json);
}

struct plumb_trace plumb_trace_begin(const struct plumb_report *r, const char *left_out, uint64_t n,
				     FILE *out)
{
	const struct plumb_verdict v = plumb_ledger_judge(r->total);
	json_t *about = plumb_json_new(r->run->tool->card.name);
	struct plumb_trace t = {.out = out};

	json_object_del(about, "schema");
	json_object_set_new(about, "recorded", plumb_json_u64(v.recorded));
	json_object_set_new(about, "lost",
			    r->total->missed_known ? plumb_json_u64(v.lost) : json_null());
	json_object_set_new(about, "lost_at_least", plumb_json_u64(v.at_least));
	json_object_set_new(about, "in_flight", plumb_json_u64(r->flights->n));
	json_object_set_new(about, left_out, plumb_json_u64(n));
	print(&t, about, "{\"displayTimeUnit\":\"ns\",\"otherData\":");
	fputs(",\"traceEvents\":[", out);
	return t;
}

void plumb_trace_add(struct plumb_trace *t, json_t *event)
{
	print(t, event, t->any ? ",\n" : "\n");
	t->any = true;
}

void plumb_trace_name(struct plumb_trace *t, const char *what, uint32_t pid, uint32_t tid,
		      const char *comm)
{
	char text[PLUMB_ESCAPED];

	plumb_escape(text, comm, sizeof(text));
	plumb_trace_add(t,
			json_pack("{s:s, s:s, s:I, s:I, s:{s:s}}", "ph", "M", "name", what, "pid",
				  (json_int_t)pid, "tid", (json_int_t)tid, "args", "name", text));
}

int plumb_trace_end(struct plumb_trace *t)
{
	fputs("\n]}\n", t->out);
	return t->err;
}
