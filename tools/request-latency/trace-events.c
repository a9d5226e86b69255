/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests as trace events: each is nested ones of its own ("b" and "e"), since those that a thread
 * serves at a time overlap.  Times are in microseconds.
 */
#include "requests.h"

#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/net/ends.h>
#include <plumb/pictures/trace-events.h>

static void add(struct plumb_trace *t, const struct request_slow *r, size_t id, const char *phase,
		const char *name, double us)
{
	plumb_trace_add(t, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:f}", "ph", phase, "cat",
				     "request", "name", name, "id", (json_int_t)id, "pid",
				     (json_int_t)r->pid, "tid", (json_int_t)r->tid, "ts", us));
}

static void add_request(struct plumb_trace *t, const struct request_slow *r, size_t id,
			uint64_t start)
{
	char server[PLUMB_ESCAPED + REQUEST_PATH], from[TCP_ADDRESS_TEXT];
	char name[sizeof(server) + sizeof(from) + 8], text[USE_TEXT + 32];
	struct request_steps steps;

	tcp_format_end(&r->raddr, from, sizeof(from));
	snprintf(name, sizeof(name), "%s from %s",
		 request_server(r->path, r->port, server, sizeof(server)), from);
	add(t, r, id, "b", name, (r->end - r->ns[REQUEST_WHOLE] - start) / 1000.0);
	request_steps_of(r, &steps);
	for (size_t i = 0; i < steps.n; i++) {
		const struct request_step *s = &steps.all[i];
		const char *part = request_step_name(s, text, sizeof(text));

		add(t, r, id, "b", part, (s->from - start) / 1000.0);
		add(t, r, id, "e", part, (s->until - start) / 1000.0);
	}
	add(t, r, id, "e", name, (r->end - start) / 1000.0);
}

static void add_requests(struct plumb_trace *t, const void *report)
{
	const struct plumb_report *r = report;
	uint64_t start = r->total->clock - r->elapsed;

	for (size_t i = 0; i < request_kept.n; i++) {
		const struct request_slow *one = &request_kept.all[i];

		if (one->end - one->ns[REQUEST_WHOLE] < start)
			start = one->end - one->ns[REQUEST_WHOLE];
	}
	for (size_t i = 0; i < request_kept.n; i++) {
		const struct request_slow *one = &request_kept.all[i];

		add_request(t, one, i, start);
		plumb_trace_name(t, "thread_name", one->pid, one->tid, one->comm);
	}
}

int request_trace(void *report, FILE *out)
{
	return plumb_trace_write(report, "later_requests_left_out", request_kept.dropped, out,
				 add_requests, report);
}
