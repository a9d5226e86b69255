/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Single requests, as they end: their parts, and when these were. */
#include "requests.h"

#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/memory.h>
#include <plumb/core/text.h>
#include <plumb/net/ends.h>

#define MOST 10000 /* that are kept for a trace */

struct request_kept request_kept;

static uint64_t part_of(const struct request_slow *r, unsigned int part)
{
	uint64_t ns = r->ns[REQUEST_WHOLE];

	if (part != REQUEST_ON_CPU)
		return r->off[part];
	for (int i = 0; i < REQUEST_OFF; i++)
		ns -= r->off[i];
	return ns;
}

/* --- its parts in their order --- */

static void step_add(struct request_steps *s, unsigned int part, uint64_t what, uint64_t from,
		     uint64_t until)
{
	if (until > from)
		s->all[s->n++] =
			(struct request_step){part, what & (REQUEST_WHAT(1) - 1), from, until};
}

void request_steps_of(const struct request_slow *r, struct request_steps *s)
{
	const uint64_t first = r->end - r->ns[REQUEST_WHOLE],
		       read = r->end - r->ns[REQUEST_SERVICE];
	uint64_t at = read;

	*s = (struct request_steps){};
	step_add(s, REQUEST_STEP_QUEUED, 0, first, read);
	if (r->off[REQUEST_HANDED]) {
		step_add(s, REQUEST_HANDED, 0, read, r->end);
		return;
	}
	/* If all are since then, there may have been more. */
	s->cut = r->spans[0].from >= read;
	if (s->cut) {
		step_add(s, REQUEST_STEP_UNKNOWN, 0, read, r->spans[0].from);
		at = r->spans[0].from;
	}
	for (size_t i = 0; i < REQUEST_SPANS; i++) {
		const struct request_span *span = &r->spans[i];

		if (span->from < at || span->until > r->end)
			continue;
		step_add(s, REQUEST_ON_CPU, 0, at, span->from);
		step_add(s, span->what >> REQUEST_WHAT_SHIFT, span->what, span->from,
			 span->waiting);
		step_add(s, REQUEST_RUNQ, 0, span->waiting, span->until);
		at = span->until;
	}
	step_add(s, REQUEST_ON_CPU, 0, at, r->end);
}

const char *request_step_name(const struct request_step *s, char *text, size_t size)
{
	char where[USE_TEXT];
	const char *name;

	if (s->part == REQUEST_STEP_QUEUED || s->part == REQUEST_STEP_UNKNOWN)
		return s->part == REQUEST_STEP_QUEUED ? "queued" : "not kept";
	name = request_part(s->part)->heading;
	if (s->part == REQUEST_ON_CPU || s->part >= REQUEST_PREEMPTED)
		return name;
	if (s->part == REQUEST_DOWNSTREAM)
		snprintf(text, size, "downstream %s",
			 use_name(s->part, s->what, where, sizeof(where)));
	else
		snprintf(text, size, "%s in %s", name,
			 use_name(s->part, s->what, where, sizeof(where)) ?: "no call");
	return text;
}

static void print_steps(const struct request_slow *r, FILE *out)
{
	char text[USE_TEXT + 32], time[32];
	struct request_steps steps;

	request_steps_of(r, &steps);
	for (size_t i = 0; i < steps.n; i++)
		fprintf(out, "%s%s %s", i ? ", " : "             ",
			request_step_name(&steps.all[i], text, sizeof(text)),
			plumb_format_time(steps.all[i].until - steps.all[i].from, PLUMB_AUTO, time,
					  sizeof(time)));
	fputc('\n', out);
}

static json_t *steps_json(const struct request_slow *r)
{
	const uint64_t first = r->end - r->ns[REQUEST_WHOLE];
	json_t *list = json_array(), *j;
	char text[USE_TEXT + 32];
	struct request_steps steps;

	request_steps_of(r, &steps);
	for (size_t i = 0; i < steps.n; i++) {
		const struct request_step *s = &steps.all[i];

		j = json_object();
		json_object_set_new(j, "what",
				    plumb_json_text(request_step_name(s, text, sizeof(text))));
		json_object_set_new(j, "at", plumb_json_u64(s->from - first));
		json_object_set_new(j, "ns", plumb_json_u64(s->until - s->from));
		json_array_append_new(list, j);
	}
	return list;
}

/* --- records --- */

static void print_heading(FILE *out)
{
	fprintf(out, " %6s %6s %7s %-15s %-15s %s\n", "TOOK", "QUEUED", "SERVICE", "SERVER", "FROM",
		"COMM/TID; PARTS");
}

/* The parts of at least 1 per cent, the largest first. */
static void print_parts(const struct request_slow *r, FILE *out)
{
	const struct plumb_part_name *sorted[REQUEST_PARTS];
	const uint64_t whole = r->ns[REQUEST_WHOLE];
	size_t i, at;

	for (i = 0; i < REQUEST_PARTS; i++) {
		for (at = i;
		     at && part_of(r, sorted[at - 1]->part) < part_of(r, request_parts[i].part);
		     at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = &request_parts[i];
	}
	for (i = 0; i < REQUEST_PARTS; i++) {
		if (part_of(r, sorted[i]->part) < whole / 100.0 || !whole)
			break;
		fprintf(out, "%s %s %.0f%%", i ? "" : ";", sorted[i]->column,
			100.0 * part_of(r, sorted[i]->part) / whole);
	}
}

static void print(const void *record, FILE *out)
{
	char text[PLUMB_ESCAPED + REQUEST_PATH], comm[PLUMB_ESCAPED];
	const struct request_slow *r = record;

	for (int i = 0; i < REQUEST_STAGES; i++)
		fprintf(out, i == REQUEST_SERVICE ? " %7s" : " %6s",
			plumb_format_time(r->ns[i], PLUMB_AUTO, text, sizeof(text)));
	fprintf(out, " %-15s", request_server(r->path, r->port, text, sizeof(text)));
	tcp_format_end(&r->raddr, text, sizeof(text));
	plumb_escape(comm, r->comm, sizeof(comm));
	fprintf(out, " %-15s %s/%u", text, comm, r->tid);
	print_parts(r, out);
	fputc('\n', out);
	print_steps(r, out);
}

static void add_json(const void *record, json_t *j)
{
	char text[PLUMB_ESCAPED + REQUEST_PATH];
	const struct request_slow *r = record;

	json_object_set_new(j, "pid", json_integer(r->pid));
	json_object_set_new(j, "tid", json_integer(r->tid));
	plumb_escape(text, r->comm, sizeof(text));
	json_object_set_new(j, "comm", json_string(text));
	json_object_set_new(j, "server",
			    plumb_json_text(request_server(r->path, r->port, text, sizeof(text))));
	json_object_set_new(j, "raddr", tcp_end_json(&r->raddr));
	for (int i = 0; i < REQUEST_STAGES; i++)
		json_object_set_new(j, request_stages[i], plumb_json_u64(r->ns[i]));
	for (const struct plumb_part_name *p = request_parts; p < request_parts + REQUEST_PARTS;
	     p++)
		json_object_set_new(j, p->json,
				    request_unseen >> p->part & 1
					    ? json_null()
					    : plumb_json_u64(part_of(r, p->part)));
	json_object_set_new(j, "timeline", steps_json(r));
}

/* For a trace, the first ones. */
static bool take(const void *record, size_t size)
{
	if (size < sizeof(struct request_slow) || !request_kept.asked)
		return true;
	if (request_kept.n == MOST)
		request_kept.dropped++;
	else
		*plumb_append(request_kept.all, request_kept.n) =
			*(const struct request_slow *)record;
	return true;
}

struct plumb_in_order request_slow_ones = {
	.size = sizeof(struct request_slow),
	.heading = print_heading,
	.print = print,
	.takes = take,
	.json_name = "request",
	.add_json = add_json,
};
