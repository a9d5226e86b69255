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

static json_t *about_run(const struct plumb_report *r, const char *left_out, uint64_t n)
{
	const struct plumb_verdict v = plumb_ledger_judge(r->total);
	json_t *about = plumb_json_new(r->run->tool->card.name);

	json_object_del(about, "schema");
	json_object_set_new(about, "recorded", plumb_json_u64(v.recorded));
	json_object_set_new(about, "lost",
			    r->total->missed_known ? plumb_json_u64(v.lost) : json_null());
	json_object_set_new(about, "lost_at_least", plumb_json_u64(v.at_least));
	json_object_set_new(about, "in_flight", plumb_json_u64(r->flights->n));
	json_object_set_new(about, left_out, plumb_json_u64(n));
	return about;
}

int plumb_trace_write(const struct plumb_report *r, const char *left_out, uint64_t n, FILE *out,
		      void (*events)(struct plumb_trace *t, const void *context),
		      const void *context)
{
	struct plumb_trace t = {.out = out};

	print(&t, about_run(r, left_out, n), "{\"displayTimeUnit\":\"ns\",\"otherData\":");
	fputs(",\"traceEvents\":[", out);
	events(&t, context);
	fputs("\n]}\n", out);
	return t.err;
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
