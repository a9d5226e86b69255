/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report of calls in flight: a table below the others, and a list in JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/privileges.h>
#include <plumb/core/report.h>
#include <plumb/core/stacking.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/thread.h>
#include <plumb/terminal/text-table.h>

#define ROWS     10 /* in the table, without --top */
#define MAX_ROWS 4096
#define CALL     128

uint64_t plumb_flight_age(const struct plumb_flights *f, const struct plumb_flight *one)
{
	const uint64_t end = one->end ?: f->taken;

	return one->start && one->start < end ? end - one->start : 0;
}

uint64_t plumb_flight_traced(const struct plumb_flights *f, const struct plumb_flight *one)
{
	const uint64_t age = plumb_flight_age(f, one), all = f->taken - f->began;

	return age < all ? age : all;
}

void plumb_frames_free(struct plumb_frames *f)
{
	while (f->n)
		free(f->text[--f->n]);
}

json_t *plumb_frames_json(const struct plumb_frames *f)
{
	json_t *stack = json_array();

	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(stack,
				      json_pack("{s:o, s:b}", "frame", plumb_json_text(f->text[i]),
						"kernel", i < f->n_kernel));
	return stack;
}

static void print_age(const struct plumb_report *r, const struct plumb_flight *one,
		      struct plumb_text_table *g)
{
	char text[32] = "";

	if (one->start)
		plumb_format_time(plumb_flight_age(r->flights, one), r->run->options.unit, text,
				  sizeof(text));
	plumb_text_table_cell(g, "%s%s%s", one->at_least ? ">" : "", one->start ? text : "?",
			      one->before ? "*" : " ");
}

static bool has_name(const struct plumb_inflight *inflight)
{
	return inflight->name || inflight->kind;
}

static void name(const struct plumb_report *r, const struct plumb_flight *one, char *text,
		 size_t size)
{
	if (has_name(r->run->tool->inflight))
		(r->run->tool->inflight->name ?: r->run->tool->inflight->kind->name)(r->run, one,
										     text, size);
	else
		snprintf(text, size, "%llu", (unsigned long long)one->what);
}

/* As in rows. */
static void name_thread(const struct plumb_flight *one, char comm[PLUMB_ESCAPED])
{
	char bytes[PLUMB_COMM_LEN];

	if (one->comm)
		snprintf(bytes, sizeof(bytes), "%s", one->comm);
	else
		plumb_thread_comm(one->pid, one->tid, bytes);
	plumb_escape(comm, bytes, PLUMB_ESCAPED);
}

static void print_row(const struct plumb_report *r, const struct plumb_flight *one,
		      struct plumb_text_table *g)
{
	const struct plumb_inflight_kind *kind = r->run->tool->inflight->kind;
	char comm[PLUMB_ESCAPED], call[CALL];

	name_thread(one, comm);
	name(r, one, call, sizeof(call));
	if (kind && kind->add_text)
		kind->add_text(one, call, sizeof(call));
	print_age(r, one, g);
	plumb_text_table_cell(g, "%u", one->pid);
	plumb_text_table_cell(g, "%u", one->tid);
	plumb_text_table_cell(g, "%s", comm);
	plumb_text_table_cell(g, "%s", call);
}

static bool is_same(const struct plumb_frames *a, const struct plumb_frames *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->text[i], b->text[i]) != 0)
			return false;
	return true;
}

/* Threads that wait for the same thing have the same stack, which is printed once. */
static void print_stacks(const struct plumb_report *r, size_t n, FILE *out)
{
	struct plumb_frames last = {}, f = {};

	for (size_t i = 0; i < n; i++) {
		const struct plumb_flight *one = &r->flights->all[i];

		r->run->tool->stacking->flight(r->run, one, &f);
		fprintf(out, "%s    %u%s\n", i ? "" : "stacks, by TID:\n", one->tid,
			i && is_same(&f, &last) ? ": the same" : "");
		for (size_t j = 0; j < f.n && !(i && is_same(&f, &last)); j++)
			fprintf(out, "%s        %s\n", j && j == f.n_kernel ? "        --\n" : "",
				f.text[j]);
		plumb_frames_free(&last);
		last = f;
		f = (struct plumb_frames){};
	}
	plumb_frames_free(&last);
}

uint64_t plumb_flights_oldest(const struct plumb_flights *f)
{
	uint64_t most = 0;

	for (size_t i = 0; i < f->n; i++)
		if (plumb_flight_age(f, &f->all[i]) > most)
			most = plumb_flight_age(f, &f->all[i]);
	return most;
}

/* Whether a call in flight is older than the longest call of the snapshot. */
static bool exceeds_maximum(const struct plumb_report *r, const struct plumb_snapshot *of)
{
	uint64_t max = 0;

	for (size_t i = 0; i < of->n; i++)
		if (of->rows[i].dist.max > max)
			max = of->rows[i].dist.max;
	return plumb_flights_oldest(r->flights) > max && max &&
	       !(r->run->tool->options.lacks & PLUMB_NO_COLUMN_OPTIONS);
}

void plumb_flights_print_oldest(const struct plumb_report *r, FILE *out)
{
	const uint64_t oldest = plumb_flights_oldest(r->flights);
	char text[32];

	if (oldest)
		fprintf(out, ", the oldest after %s%s",
			plumb_format_time(oldest, PLUMB_AUTO, text, sizeof(text)),
			exceeds_maximum(r, r->total) ? ", longer than all that had" : "");
}

/* Explains the marks in the first N rows. */
static void print_notes(const struct plumb_flights *f, size_t n, FILE *out)
{
	bool at_least = false, before = false, unknown = false;

	for (size_t i = 0; i < n; i++) {
		at_least |= f->all[i].at_least;
		before |= f->all[i].before;
		unknown |= !f->all[i].start;
	}
	if (before)
		fputs("*: since before the trace\n", out);
	if (at_least)
		fputs(">: at least; it may have begun earlier\n", out);
	if (unknown)
		fputs("?: this mechanism does not show since when\n", out);
}

/* The kernel protects some threads from those, too, that have both capabilities. */
static const char *why_hidden(void)
{
	const uint64_t both = PLUMB_CAP(SYS_PTRACE) | PLUMB_CAP(DAC_READ_SEARCH);

	return (plumb_capabilities() & both) == both ? "the kernel protects them"
						     : "it takes CAP_SYS_PTRACE, and for other\n"
						       "users' threads CAP_DAC_READ_SEARCH";
}

void plumb_flights_print(const struct plumb_report *r, FILE *out)
{
	const struct plumb_inflight *inflight = r->run->tool->inflight;
	const char *const headings[] = {">AGE", ">PID", ">TID", "COMM", inflight->heading};
	const struct plumb_options *o = &r->run->options;
	size_t top = o->top ?: o->top_given ? SIZE_MAX : ROWS, n;
	const struct plumb_flights *f = r->flights;
	struct plumb_text_table *g;

	if (!(f->n || f->cut || f->hidden || f->unlisted))
		return;
	n = f->n < top ? f->n : top;
	g = plumb_text_table_new(headings, sizeof(headings) / sizeof(headings[0]));
	for (size_t i = 0; i < n; i++)
		print_row(r, &f->all[i], g);
	fprintf(out, "\nin flight: %zu", f->n);
	if (f->n > n)
		fprintf(out, ", the oldest %zu:", n);
	fputc('\n', out);
	plumb_text_table_print(g, out);
	plumb_text_table_free(g);
	if (inflight->stacks)
		print_stacks(r, n, out);
	if (inflight->print)
		inflight->print(r->run, f, n, out);
	print_notes(f, n, out);
	if (exceeds_maximum(r, r->snap))
		fputs("the oldest exceeds MAX: percentiles and maxima are of what has ended\n",
		      out);
	if (f->cut)
		fputs(plumb_pid_namespace() || plumb_pids_are_foreign()
			      ? "there may be more: threads of other pid namespaces are not "
				"listed\n"
			      : "there may be more: not all threads could be inspected in time\n",
		      out);
	if (f->hidden)
		fprintf(out, "%llu threads could not be inspected: %s\n",
			(unsigned long long)f->hidden, why_hidden());
	if (f->unlisted)
		fprintf(out,
			"%llu more may be in flight, but no thread was found that is in them\n",
			(unsigned long long)f->unlisted);
}

static json_t *json_of(const struct plumb_report *r, const struct plumb_flight *one)
{
	const struct plumb_inflight *inflight = r->run->tool->inflight;
	char comm[PLUMB_ESCAPED], call[CALL];
	struct plumb_frames frames = {};
	json_t *j = json_object();

	name_thread(one, comm);
	name(r, one, call, sizeof(call));
	json_object_set_new(j, "pid", json_integer(one->pid));
	json_object_set_new(j, "tid", json_integer(one->tid));
	json_object_set_new(j, "comm", plumb_json_text(comm));
	json_object_set_new(j, inflight->json,
			    has_name(inflight) ? plumb_json_text(call) : plumb_json_u64(one->what));
	json_object_set_new(j, "age_ns",
			    one->start ? plumb_json_u64(plumb_flight_age(r->flights, one))
				       : json_null());
	json_object_set_new(j, "age_is_least", json_boolean(one->at_least));
	/* Without a state, this is known only of a thread that has slept since before the trace. */
	json_object_set_new(j, "since_before",
			    one->before || (one->start && !one->at_least)
				    ? json_boolean(one->before)
				    : json_null());
	if (inflight->stacks) {
		r->run->tool->stacking->flight(r->run, one, &frames);
		json_object_set_new(j, "stack", plumb_frames_json(&frames));
		plumb_frames_free(&frames);
	}
	if (inflight->kind && inflight->kind->add_json)
		inflight->kind->add_json(one, j);
	if (inflight->add_json)
		inflight->add_json(r->run, r->flights, one, j);
	return j;
}

void plumb_flights_json(json_t *json, const struct plumb_report *r)
{
	const struct plumb_flights *f = r->flights;
	json_t *all;
	size_t n;

	all = json_array();
	n = f->n < MAX_ROWS ? f->n : MAX_ROWS;
	for (size_t i = 0; i < n; i++)
		json_array_append_new(all, json_of(r, &f->all[i]));
	json_object_set_new(json, "in_flight", all);
	json_object_set_new(json, "in_flight_not_listed", plumb_json_u64(f->n - n + f->unlisted));
	json_object_set_new(json, "in_flight_complete",
			    json_boolean(!f->cut && !f->hidden && !f->unlisted));
}
