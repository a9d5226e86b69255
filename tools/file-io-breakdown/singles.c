/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "singles.h"

#include <errno.h>
#include <plumb/base/clock.h>
#include <plumb/base/json.h>
#include <plumb/base/log.h>
#include <plumb/base/reasons.h>
#include <plumb/base/text.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/kernel/syscalls.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fields.h"
#include "file-io-breakdown.h"

/* Calls that are not printed yet: those of different CPUs can arrive out of order. */
static struct {
	struct io_record *list;
	size_t n, room;
	bool json, headed;
} singles;

/* ns: maximum time from a call's end until its record arrives here. */
#define ON_ITS_WAY 10000000

void singles_begin(bool json)
{
	singles.json = json;
}

int singles_add(const void *record, size_t size)
{
	if (size < sizeof(struct io_record))
		return 0;
	if (singles.n == singles.room) {
		singles.room = singles.room * 2 ?: 64;
		singles.list = reallocarray(singles.list, singles.room, sizeof(*singles.list));
		if (!singles.list)
			abort();
	}
	memcpy(&singles.list[singles.n++], record, sizeof(struct io_record));
	return 0;
}

static int by_end(const void *a, const void *b)
{
	const struct io_record *x = a, *y = b;

	return (x->end > y->end) - (x->end < y->end);
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

/* The wall-clock time at which the call ended. */
static struct timespec when(const struct io_record *c)
{
	uint64_t ns = plumb_wall_clock() + c->end;

	return (struct timespec){ns / 1000000000, ns % 1000000000};
}

static void print_heading(FILE *out)
{
	fprintf(out, "%-15s %7s", "ENDED", "TOOK");
	for (size_t i = 0; i < IO_ALL_PARTS; i++)
		fprintf(out, " %5s", io_parts[i].column);
	fprintf(out, " COMM/TID CALL\n");
}

static void print_line(const struct io_record *c, FILE *out)
{
	char text[PLUMB_ESCAPED + 16], disk[64];
	struct timespec t = when(c);
	struct tm tm;

	if (!singles.headed)
		print_heading(out);
	singles.headed = true;
	localtime_r(&t.tv_sec, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fprintf(out, "%s.%06ld", text, t.tv_nsec / 1000);
	fprintf(out, " %7s", plumb_format_time(c->ns, PLUMB_AUTO, text, sizeof(text)));
	for (size_t i = 0; i < IO_ALL_PARTS; i++)
		fprintf(out, " %4.0f%%", c->ns ? 100.0 * part_of(c, io_parts[i].part) / c->ns : 0);
	plumb_escape(text, c->comm, sizeof(text));
	io_disk_name(c->dev, disk, sizeof(disk));
	fprintf(out, " %s/%u", text, c->tid);
	fprintf(out, " %s on %s, %s", plumb_syscall_name(c->nr, c->abi, text, sizeof(text)),
		*c->fs ? c->fs : "-", disk);
	if (c->ret < 0 && c->ret >= -4095)
		fprintf(out, " = -%s", plumb_errno_name(c->ret));
	else
		fprintf(out, " = %lld", (long long)c->ret);
	if (c->other.tid) {
		plumb_escape(text, c->other.comm, sizeof(text));
		fprintf(out, "; I/O of %s/%u", text, c->other.tid);
	}
	fputc('\n', out);
}

static json_t *json_of_other(const struct io_submitter *other)
{
	char comm[PLUMB_ESCAPED];

	if (!other->tid)
		return json_null();
	plumb_escape(comm, other->comm, sizeof(comm));
	return json_pack("{s:s, s:I, s:I}", "comm", comm, "pid", (json_int_t)other->pid, "tid",
			 (json_int_t)other->tid);
}

static json_t *json_of(const struct io_record *c)
{
	struct timespec t = when(c);
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
	io_disk_name(c->dev, text, sizeof(text));
	json_object_set_new(j, "disk", json_string(text));
	json_object_set_new(j, "ret", json_integer(c->ret));
	json_object_set_new(j, "ns", plumb_json_u64(c->ns));
	for (size_t i = 0; i < IO_ALL_PARTS; i++)
		json_object_set_new(j, io_parts[i].json,
				    plumb_json_u64(part_of(c, io_parts[i].part)));
	json_object_set_new(j, "io_of", json_of_other(&c->other));
	return json_pack("{s:o}", "call", j);
}

/* Return how many calls are so old that all calls which ended before them have arrived. */
static size_t count_settled(bool all)
{
	/* Calls still in the ring buffer can have ended a little before the last one read. */
	uint64_t until = all ? plumb_now() : singles.list[singles.n - 1].end;
	size_t n = 0;

	while (n < singles.n && singles.list[n].end + ON_ITS_WAY <= until)
		n++;
	return n;
}

/* Write TEXT by a single fwrite(), so that errno is that of the failed write. */
static int write_out(const char *text, size_t size)
{
	int err;

	if (!size || (fwrite(text, 1, size, stdout) == size && !fflush(stdout)))
		return 0;
	err = -errno;
	clearerr(stdout); /* the caller reports it; the exit must not report it again */
	return err;
}

static int print_settled(size_t settled)
{
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	int err = out ? 0 : -errno;

	for (size_t i = 0; i < settled && !err; i++) {
		if (singles.json)
			err = plumb_json_print(json_of(&singles.list[i]), out);
		else
			print_line(&singles.list[i], out);
	}
	if (out && fclose(out) && !err)
		err = -errno;
	if (!err)
		err = write_out(text, size);
	free(text);
	return err;
}

int singles_print(bool all, uint64_t *again)
{
	size_t settled;
	int err;

	if (!singles.n)
		return 0;
	qsort(singles.list, singles.n, sizeof(*singles.list), by_end);
	settled = count_settled(all);
	err = settled ? print_settled(settled) : 0;
	singles.n -= settled;
	memmove(singles.list, singles.list + settled, singles.n * sizeof(*singles.list));
	if (err && err != -EPIPE)
		return plumb_error(err, "cannot write to standard output: %s", strerror(-err));
	if (err)
		return err;
	*again = singles.n ? ON_ITS_WAY : 0;
	return 0;
}
