/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "singles.h"

#include <plumb/core/json.h>
#include <plumb/core/reasons.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/disks/disks.h>
#include <plumb/functions/disk.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/kernel/thread.h>
#include <plumb/stacks/stacks.h>
#include <plumb/syscalls/syscalls.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static const struct io_so_far *so_far;
static bool have_stacks;

void io_slow_calls_have_stacks(bool have)
{
	have_stacks = have;
}

void singles_use(const struct io_so_far *result)
{
	so_far = result;
}

/* --- what calls that have ended and others have --- */

/* Of a call that took NS. */
static uint64_t part_of(const struct io_waited *w, uint64_t ns, unsigned int part)
{
	if (part != IO_ON_CPU)
		return w->off[part];
	for (int i = 0; i < IO_PARTS; i++)
		ns -= w->off[i];
	return ns;
}

/* Whether nobody looks for the part, in this run. */
static bool is_unseen(const struct plumb_part_name *part)
{
	const struct plumb_run *run = io_slow_calls.run;

	return plumb_part_is_unseen(run->tool, run->instance.no_return, part);
}

static void print_place(const struct io_waited *w, FILE *out)
{
	char disk[64];

	plumb_disk_name(w->dev, disk, sizeof(disk));
	fprintf(out, "on %s, %s", *w->fs ? w->fs : "-", disk);
}

static void print_other(const struct io_submitter *by, FILE *out)
{
	char comm[PLUMB_ESCAPED];

	plumb_escape(comm, by->comm, sizeof(comm));
	fprintf(out, "; I/O of %s/%u", comm, by->tid);
}

static void add_place(json_t *j, const struct io_waited *w)
{
	char disk[64];

	json_object_set_new(j, "fs", json_string(*w->fs ? w->fs : "-"));
	plumb_disk_name(w->dev, disk, sizeof(disk));
	json_object_set_new(j, "disk", json_string(disk));
}

/* RETURN_KNOWN: the part IO_RETURN is.  OTHER: it waited for I/O of others. */
static void add_parts(json_t *j, const struct io_waited *w, uint64_t ns, bool return_known,
		      bool other)
{
	char comm[PLUMB_ESCAPED];

	json_object_set_new(j, "ns", plumb_json_u64(ns));
	for (const struct plumb_part_name *p = io_parts; p < io_parts + IO_ALL_PARTS; p++)
		json_object_set_new(j, p->json,
				    is_unseen(p) || (p->part == IO_RETURN && !return_known)
					    ? json_null()
					    : plumb_json_u64(part_of(w, ns, p->part)));
	plumb_escape(comm, w->other.comm, sizeof(comm));
	json_object_set_new(j, "io_of",
			    other ? json_pack("{s:s, s:I, s:I}", "comm", comm, "pid",
					      (json_int_t)w->other.pid, "tid",
					      (json_int_t)w->other.tid)
				  : json_null());
}

/* --- calls that have ended --- */

/* The parts of at least 1 per cent, the largest first. */
static void print_parts(const struct io_record *c, FILE *out)
{
	const struct plumb_part_name *sorted[IO_ALL_PARTS];
	uint64_t ns;
	size_t i, at;

	for (i = 0; i < IO_ALL_PARTS; i++) {
		ns = part_of(&c->waited, c->ns, io_parts[i].part);
		for (at = i; at && part_of(&c->waited, c->ns, sorted[at - 1]->part) < ns; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = &io_parts[i];
	}
	for (i = 0; i < IO_ALL_PARTS && c->ns; i++) {
		ns = part_of(&c->waited, c->ns, sorted[i]->part);
		if (ns < c->ns / 100.0)
			break;
		fprintf(out, "%s %s %.0f%%", i ? "" : ";", sorted[i]->column, 100.0 * ns / c->ns);
	}
}

static void print_heading(FILE *out)
{
	fprintf(out, " %6s COMM/TID CALL; PARTS\n", "TOOK");
}

static void name_frames(struct plumb_frames *f, const struct io_record *c)
{
	const struct plumb_stack_key key = {
		.kernel = PLUMB_NO_STACK,
		.user = c->tgid ? c->user : PLUMB_NO_STACK,
		.tgid = c->tgid,
	};

	plumb_frames_name(f, io_slow_calls.run->instance.bpf.object, &key);
}

static void print_stack(const struct io_record *c, FILE *out)
{
	struct plumb_frames f;

	name_frames(&f, c);
	for (size_t i = 0; i < f.n; i++)
		fprintf(out, "    %s\n", f.text[i]);
	plumb_frames_free(&f);
}

static void print(const void *record, FILE *out)
{
	const struct io_record *c = record;
	char text[PLUMB_ESCAPED + 16];

	fprintf(out, " %6s", plumb_format_time(c->ns, PLUMB_AUTO, text, sizeof(text)));
	plumb_escape(text, c->comm, sizeof(text));
	fprintf(out, " %s/%u", text, c->tid);
	fprintf(out, " %s ", plumb_syscall_name(c->nr, c->abi, text, sizeof(text)));
	print_place(&c->waited, out);
	if (c->ret < 0 && c->ret >= -4095)
		fprintf(out, " = -%s", plumb_errno_name(c->ret));
	else
		fprintf(out, " = %lld", (long long)c->ret);
	print_parts(c, out);
	if (c->waited.other.tid)
		print_other(&c->waited.other, out);
	fputc('\n', out);
	if (have_stacks)
		print_stack(c, out);
}

static void add_json(const void *record, json_t *j)
{
	const struct io_record *c = record;
	struct plumb_frames f;
	char text[4096];

	json_object_set_new(j, "pid", json_integer(c->pid));
	json_object_set_new(j, "tid", json_integer(c->tid));
	plumb_escape(text, c->comm, sizeof(text));
	json_object_set_new(j, "comm", json_string(text));
	plumb_cgroup_path(c->cgroup, text, sizeof(text));
	json_object_set_new(j, "cgroup", plumb_json_text(text));
	json_object_set_new(j, "cpu", json_integer(c->cpu));
	plumb_syscall_name(c->nr, c->abi, text, sizeof(text));
	json_object_set_new(j, "syscall", json_string(text));
	add_place(j, &c->waited);
	json_object_set_new(j, "ret", json_integer(c->ret));
	/* A call that was slow before its way out has its record before that. */
	add_parts(j, &c->waited, c->ns, c->waited.off[IO_RETURN], c->waited.other.tid);
	if (!have_stacks)
		return;
	name_frames(&f, c);
	json_object_set_new(j, "stack", plumb_frames_json(&f));
	plumb_frames_free(&f);
}

struct plumb_in_order io_slow_calls = {
	.size = sizeof(struct io_record),
	.heading = print_heading,
	.print = print,
	.json_name = "call",
	.add_json = add_json,
};

/* --- calls that have not ended --- */

void flights_describe(const struct plumb_run *run, const struct plumb_state *state,
		      struct plumb_flight *f)
{
	static int own, task;

	if (!own) {
		own = plumb_states_offset(run->instance.bpf.object, "call_thread", "own");
		task = plumb_states_offset(run->instance.bpf.object, "io_call", "task");
	}
	f->own = plumb_state_word(state->value, own + task);
}

/* The parts of ONE, which add up to its age NS; false: it began before the trace, or has ended. */
static bool divide(const struct plumb_run *run, const struct plumb_flights *f,
		   const struct plumb_flight *one, struct io_so_far *c, uint64_t *ns)
{
	struct bpf_program *p =
		bpf_object__find_program_by_name(run->instance.bpf.object, "call_so_far");
	struct plumb_thread_stat stat = {};
	uint64_t args[12] = {one->own, one->start, f->taken}, left;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	plumb_thread_stat(one->pid, one->tid, &stat);
	args[3] = stat.cpu;
	if (!one->own || bpf_prog_test_run_opts(bpf_program__fd(p), &opts))
		return false;
	*c = *so_far;
	*ns = left = f->taken > one->start ? f->taken - one->start : 0;
	for (int i = 0; i < IO_PARTS; i++) {
		/* In a report of an interval they can be later than the age. */
		if (c->waited.off[i] > left)
			c->waited.off[i] = left;
		left -= c->waited.off[i];
	}
	return c->in < IO_ALL_PARTS;
}

static bool waits_for_other(const struct io_so_far *c)
{
	return c->waited.other.tid && (c->in == IO_OTHER_DEVICE || c->in == IO_OTHER_QUEUE);
}

/* The part that it is in. */
static const struct plumb_part_name *part_in(const struct io_so_far *c)
{
	const struct plumb_part_name *p = io_parts;

	while (p->part != c->in)
		p++;
	return p;
}

/* All of them are as wide as a line without that of limits. */
static bool has_column(const struct plumb_part_name *part)
{
	return part->part != IO_LIMIT || plumb_disks_have_limits();
}

/* Each as wide as its heading, or a share below 100 per cent: all of them fill a line. */
static int width_of(const struct plumb_part_name *part)
{
	const int n = strlen(part->column);

	return n < 4 ? 4 : n;
}

static void print_share(const struct plumb_part_name *part, double per_cent, FILE *out)
{
	if (is_unseen(part))
		fprintf(out, " %*s", width_of(part), "-");
	else
		fprintf(out, " %*.*f", width_of(part), per_cent < 99.95, per_cent);
}

static void print_flight(const struct io_so_far *c, uint64_t ns, uint32_t tid, FILE *out)
{
	fprintf(out, "  %10u %-7s", tid, part_in(c)->column);
	for (const struct plumb_part_name *p = io_parts; p < io_parts + IO_ALL_PARTS; p++)
		if (has_column(p))
			print_share(p, ns ? 100.0 * part_of(&c->waited, ns, p->part) / ns : 0, out);
	fprintf(out, "\n%13s", "");
	print_place(&c->waited, out);
	if (waits_for_other(c))
		print_other(&c->waited.other, out);
	fputc('\n', out);
}

void flights_print(const struct plumb_run *run, const struct plumb_flights *f, size_t n, FILE *out)
{
	struct io_so_far c;
	bool first = true;
	uint64_t ns;

	for (size_t i = 0; i < n; i++) {
		if (!divide(run, f, &f->all[i], &c, &ns))
			continue;
		if (first) {
			fprintf(out, "parts so far, in per cent of AGE:\n  %10s %-7s", "TID",
				"NOW");
			for (const struct plumb_part_name *p = io_parts;
			     p < io_parts + IO_ALL_PARTS; p++)
				fprintf(out, " %*s", width_of(p), p->column);
			fputc('\n', out);
		}
		first = false;
		print_flight(&c, ns, f->all[i].tid, out);
	}
}

void flights_json(const struct plumb_run *run, const struct plumb_flights *f,
		  const struct plumb_flight *one, json_t *json)
{
	json_t *j = json_null();
	struct io_so_far c;
	uint64_t ns;

	if (divide(run, f, one, &c, &ns)) {
		j = json_object();
		json_object_set_new(j, "in", json_string(part_in(&c)->json));
		add_place(j, &c.waited);
		add_parts(j, &c.waited, ns, true, waits_for_other(&c));
	}
	json_object_set_new(json, "so_far", j);
}
