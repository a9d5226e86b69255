/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "singles.h"

#include <plumb/core/json.h>
#include <plumb/core/reasons.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/functions/disk.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/recorder/in-order.h>
#include <plumb/syscalls/syscalls.h>

#include "fields.h"
#include "file-io-breakdown.h"

static int print(const void *record, FILE *out);

static struct plumb_in_order waiting = {.size = sizeof(struct io_record), .print = print};
static bool as_json, headed;
static const struct plumb_run *tracing;

void singles_begin(bool json)
{
	plumb_cgroup_keep();
	as_json = json;
}

void singles_attached(struct plumb_run *run)
{
	tracing = run;
}

bool singles_lack(const struct plumb_part_name *part)
{
	return plumb_part_is_unseen(tracing->tool, tracing->instance.no_return, part);
}

int singles_add(const void *record, size_t size)
{
	return plumb_in_order_add(&waiting, record, size);
}

int singles_print(bool all, uint64_t *again)
{
	return plumb_in_order_print(&waiting, all, again);
}

static uint64_t part_of(const struct io_record *c, unsigned int part)
{
	uint64_t ns = c->ns;

	if (part != IO_ON_CPU)
		return c->off[part];
	for (int i = 0; i < IO_PARTS; i++)
		ns -= c->off[i];
	return ns;
}

/* The parts of at least 1 per cent, the largest first. */
static void print_parts(const struct io_record *c, FILE *out)
{
	const struct plumb_part_name *sorted[IO_ALL_PARTS];
	size_t i, at;

	for (i = 0; i < IO_ALL_PARTS; i++) {
		for (at = i; at && part_of(c, sorted[at - 1]->part) < part_of(c, io_parts[i].part);
		     at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = &io_parts[i];
	}
	for (i = 0; i < IO_ALL_PARTS && c->ns && part_of(c, sorted[i]->part) >= c->ns / 100.0; i++)
		fprintf(out, "%s %s %.0f%%", i ? "" : ";", sorted[i]->column,
			100.0 * part_of(c, sorted[i]->part) / c->ns);
}

static void print_line(const struct io_record *c, FILE *out)
{
	char text[PLUMB_ESCAPED + 16], disk[64];

	if (!headed)
		fprintf(out, "%-12s %6s COMM/TID CALL; PARTS\n", "ENDED", "TOOK");
	headed = true;
	plumb_in_order_print_time(c->end, out);
	fprintf(out, " %6s", plumb_format_time(c->ns, PLUMB_AUTO, text, sizeof(text)));
	plumb_escape(text, c->comm, sizeof(text));
	plumb_disk_name(c->dev, disk, sizeof(disk));
	fprintf(out, " %s/%u", text, c->tid);
	fprintf(out, " %s on %s, %s", plumb_syscall_name(c->nr, c->abi, text, sizeof(text)),
		*c->fs ? c->fs : "-", disk);
	if (c->ret < 0 && c->ret >= -4095)
		fprintf(out, " = -%s", plumb_errno_name(c->ret));
	else
		fprintf(out, " = %lld", (long long)c->ret);
	print_parts(c, out);
	if (c->other.tid) {
		plumb_escape(text, c->other.comm, sizeof(text));
		fprintf(out, "; I/O of %s/%u", text, c->other.tid);
	}
	fputc('\n', out);
}

json_t *singles_submitter(const struct io_submitter *by)
{
	char comm[PLUMB_ESCAPED];

	plumb_escape(comm, by->comm, sizeof(comm));
	return json_pack("{s:s, s:I, s:I}", "comm", comm, "pid", (json_int_t)by->pid, "tid",
			 (json_int_t)by->tid);
}

/* A call that was slow before its way out has its record before that. */
static bool is_known(const struct io_record *c, const struct plumb_part_name *part)
{
	return !singles_lack(part) && (part->part != IO_RETURN || c->off[IO_RETURN]);
}

static json_t *json_of(const struct io_record *c)
{
	struct timespec t = plumb_in_order_time(c->end);
	json_t *j = json_object();
	char text[4096];

	json_object_set_new(j, "end", plumb_json_time(&t));
	json_object_set_new(j, "pid", json_integer(c->pid));
	json_object_set_new(j, "tid", json_integer(c->tid));
	plumb_escape(text, c->comm, sizeof(text));
	json_object_set_new(j, "comm", json_string(text));
	plumb_cgroup_path(c->cgroup, text, sizeof(text));
	json_object_set_new(j, "cgroup", plumb_json_text(text));
	json_object_set_new(j, "cpu", json_integer(c->cpu));
	plumb_syscall_name(c->nr, c->abi, text, sizeof(text));
	json_object_set_new(j, "syscall", json_string(text));
	json_object_set_new(j, "fs", json_string(*c->fs ? c->fs : "-"));
	plumb_disk_name(c->dev, text, sizeof(text));
	json_object_set_new(j, "disk", json_string(text));
	json_object_set_new(j, "ret", json_integer(c->ret));
	json_object_set_new(j, "ns", plumb_json_u64(c->ns));
	for (size_t i = 0; i < IO_ALL_PARTS; i++)
		json_object_set_new(j, io_parts[i].json,
				    is_known(c, &io_parts[i])
					    ? plumb_json_u64(part_of(c, io_parts[i].part))
					    : json_null());
	json_object_set_new(j, "io_of", c->other.tid ? singles_submitter(&c->other) : json_null());
	return json_pack("{s:o}", "call", j);
}

static int print(const void *record, FILE *out)
{
	if (as_json)
		return plumb_json_print(json_of(record), out);
	print_line(record, out);
	return 0;
}
