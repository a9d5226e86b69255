/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flights.h"

#include <plumb/core/json.h>
#include <plumb/core/text.h>
#include <plumb/functions/disk.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/thread.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "fields.h"
#include "singles.h"

static const struct io_so_far *result;

void flights_begin(const struct io_so_far *of)
{
	result = of;
}

void flights_read(const struct plumb_run *run, const struct plumb_state *state,
		  struct plumb_flights *to)
{
	static int own, task;
	const size_t n = to->n;

	if (!own) {
		own = plumb_states_offset(run->instance.bpf.object, "call_thread", "own");
		task = plumb_states_offset(run->instance.bpf.object, "io_call", "task");
	}
	plumb_flight_read_syscall(run, state, to);
	if (to->n > n)
		to->all[n].own = plumb_state_word(state->value, own + task);
}

/* A call in flight; its parts add up to its age. */
struct so_far {
	struct io_so_far is;
	uint64_t ns, on_cpu;
};

/* False: the call began before the trace, or has ended. */
static bool divide(const struct plumb_run *run, const struct plumb_flights *f,
		   const struct plumb_flight *one, struct so_far *c)
{
	struct bpf_program *p =
		bpf_object__find_program_by_name(run->instance.bpf.object, "call_so_far");
	struct plumb_thread_stat stat = {};
	uint64_t args[12] = {one->own, one->start, f->taken};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	plumb_thread_stat(one->pid, one->tid, &stat);
	args[3] = stat.cpu;
	if (!one->own || bpf_prog_test_run_opts(bpf_program__fd(p), &opts))
		return false;
	c->is = *result;
	c->ns = f->taken > one->start ? f->taken - one->start : 0;
	c->on_cpu = c->ns;
	for (int i = 0; i < IO_PARTS; i++) {
		/* In a report of an interval they can be later than the age. */
		if (c->is.off[i] > c->on_cpu)
			c->is.off[i] = c->on_cpu;
		c->on_cpu -= c->is.off[i];
	}
	return c->is.in < IO_ALL_PARTS;
}

static uint64_t part_of(const struct so_far *c, unsigned int part)
{
	return part == IO_ON_CPU ? c->on_cpu : c->is.off[part];
}

static bool waits_for_other(const struct so_far *c)
{
	return c->is.other.tid && (c->is.in == IO_OTHER_DEVICE || c->is.in == IO_OTHER_QUEUE);
}

/* The part that it is in. */
static const struct plumb_part_name *part_in(const struct so_far *c)
{
	size_t i = 0;

	while (io_parts[i].part != c->is.in)
		i++;
	return &io_parts[i];
}

static void print_heading(FILE *out)
{
	fprintf(out, "parts so far, in per cent of AGE:\n  %10s %-7s", "TID", "NOW");
	plumb_print_part_headings(io_parts, IO_ALL_PARTS, out);
	fputc('\n', out);
}

static void print(const struct so_far *c, uint32_t tid, FILE *out)
{
	char text[PLUMB_ESCAPED];

	fprintf(out, "  %10u %-7s", tid, part_in(c)->column);
	for (size_t i = 0; i < IO_ALL_PARTS; i++)
		plumb_print_part_share(&io_parts[i], singles_lack(&io_parts[i]),
				       c->ns ? 100.0 * part_of(c, io_parts[i].part) / c->ns : 0,
				       out);
	plumb_disk_name(c->is.dev, text, sizeof(text));
	fprintf(out, "\n%13son %s, %s", "", *c->is.fs ? c->is.fs : "-", text);
	if (waits_for_other(c)) {
		plumb_escape(text, c->is.other.comm, sizeof(text));
		fprintf(out, "; I/O of %s/%u", text, c->is.other.tid);
	}
	fputc('\n', out);
}

void flights_print(const struct plumb_run *run, const struct plumb_flights *f, size_t n, FILE *out)
{
	bool headed = false;
	struct so_far c;

	for (size_t i = 0; i < n; i++) {
		if (!divide(run, f, &f->all[i], &c))
			continue;
		if (!headed)
			print_heading(out);
		headed = true;
		print(&c, f->all[i].tid, out);
	}
}

void flights_json(const struct plumb_run *run, const struct plumb_flights *f,
		  const struct plumb_flight *one, json_t *json)
{
	char disk[PLUMB_ESCAPED];
	struct so_far c;
	json_t *parts;

	if (!divide(run, f, one, &c)) {
		json_object_set_new(json, "so_far", json_null());
		return;
	}
	parts = json_object();
	json_object_set_new(parts, "in", json_string(part_in(&c)->json));
	plumb_disk_name(c.is.dev, disk, sizeof(disk));
	json_object_set_new(parts, "fs", json_string(*c.is.fs ? c.is.fs : "-"));
	json_object_set_new(parts, "disk", json_string(disk));
	json_object_set_new(parts, "ns", plumb_json_u64(c.ns));
	for (size_t i = 0; i < IO_ALL_PARTS; i++)
		json_object_set_new(parts, io_parts[i].json,
				    singles_lack(&io_parts[i])
					    ? json_null()
					    : plumb_json_u64(part_of(&c, io_parts[i].part)));
	json_object_set_new(parts, "io_of",
			    waits_for_other(&c) ? singles_submitter(&c.is.other) : json_null());
	json_object_set_new(json, "so_far", parts);
}
