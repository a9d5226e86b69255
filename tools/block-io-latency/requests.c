/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/reasons.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/functions/disk.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/map.h>
#include <plumb/recorder/in-order.h>

#include <bpf/libbpf.h>

/* --- the keys --- */

static const char *const ops[BLOCK_OPS] = {
	[BLOCK_READ] = "read",
	[BLOCK_WRITE] = "write",
	[BLOCK_FLUSH] = "flush",
	[BLOCK_DISCARD] = "discard",
	[BLOCK_SECURE_ERASE] = "secure-erase",
	[BLOCK_WRITE_ZEROES] = "write-zeroes",
	[BLOCK_DRIVER] = "driver",
	[BLOCK_OTHER] = "other",
};

static const char *op_name(uint32_t op)
{
	return ops[op < BLOCK_OPS ? op : BLOCK_OTHER];
}

static void format_part(const void *key, char *text, size_t size)
{
	plumb_disk_name(((const struct block_key *)key)->dev, text, size);
}

static const char *const stage_names[BLOCK_STAGES] = {
	[BLOCK_WHOLE] = "whole",
	[BLOCK_BEFORE] = "before",
	[BLOCK_QUEUED] = "queued",
	[BLOCK_DEVICE] = "device",
};

static const char *const flags[BLOCK_FLAGS] = {
	[BLOCK_SYNC] = "sync", [BLOCK_META] = "meta",     [BLOCK_READAHEAD] = "readahead",
	[BLOCK_FUA] = "fua",   [BLOCK_POLLED] = "polled",
};

/*
 * The errno that the kernel makes of a blk_status_t (block/blk-core.c); 0: of numbers that are not
 * the same on all kernels, or unknown.
 */
static int errno_of_status(uint32_t status)
{
	static const int errors[] = {
		[1] = EOPNOTSUPP, [2] = ETIMEDOUT, [3] = ENOSPC,  [4] = ENOLINK,
		[5] = EREMOTEIO,  [6] = EBADE,     [7] = ENODATA, [8] = EILSEQ,
		[9] = ENOMEM,     [10] = EIO,      [11] = EAGAIN, [12] = EAGAIN,
	};

	return status < sizeof(errors) / sizeof(errors[0]) ? errors[status] : 0;
}

static void format_errno(const void *key, char *text, size_t size)
{
	uint32_t error = ((const struct block_key *)key)->error;
	bool is_status = error >= BLOCK_STATUS;
	uint32_t number = is_status ? (uint32_t)errno_of_status(error - BLOCK_STATUS) : error;

	if (error && !number)
		snprintf(text, size, "status-%u", error - BLOCK_STATUS);
	else
		snprintf(text, size, "%s", error ? plumb_errno_name(number) : "0");
}

const struct plumb_field block_fields[BLOCK_N_FIELDS] = {
	{PLUMB_FIELD("disk", BLOCK_BY_DISK, PLUMB_WORD, block_key, disk)},
	{"part", BLOCK_BY_PART, .format = format_part},
	{PLUMB_NAMED_FIELD("op", BLOCK_BY_OP, PLUMB_NAME, block_key, op, ops)},
	{PLUMB_NAMED_FIELD("flags", BLOCK_BY_FLAGS, PLUMB_FLAGS, block_key, flags, flags)},
	{PLUMB_FIELD("size", BLOCK_BY_SIZE, PLUMB_BYTES_2, block_key, size)},
	{"errno", BLOCK_BY_ERRNO, .format = format_errno},
	{PLUMB_NAMED_FIELD("stage", BLOCK_BY_STAGE, PLUMB_NAME, block_key, stage, stage_names)},
};

static const struct bpf_object *used;

bool block_selects;
static bool stages;

bool block_requests_of(const struct plumb_options *o, bool slower)
{
	stages = slower || o->by & BLOCK_BY_STAGE;
	block_selects = o->n_pids || o->n_tids || o->n_comms_typed || o->n_cgroups || o->command;
	return stages;
}

/* Requests in flight, for their names; plumb_flight.what is an index. */
static struct block_request *listed;
static size_t n_listed;

int block_requests_use(struct bpf_object *object)
{
	used = object;
	return 0;
}

/* --- in flight --- */

/* A slot may change meanwhile. */
static void list_request(const struct block_request *at, struct plumb_flights *to)
{
	const struct block_request r = *at;

	if (!r.id || r.rejected || n_listed == BLOCK_REQUESTS)
		return;
	listed[n_listed] = r;
	plumb_flights_add(to, &PLUMB_FLIGHT(r.pid, r.tid, .start = r.start, .what = n_listed++));
}

static void read_requests(const struct plumb_run *run, struct plumb_flights *to)
{
	static struct plumb_elements spills;
	const struct bpf_object *object = run->instance.bpf.object;
	size_t size;
	const struct block_request *r = plumb_states_variable(object, "block_slots", &size);

	n_listed = 0;
	if (!listed)
		listed = calloc(BLOCK_REQUESTS, sizeof(*listed));
	if (!listed)
		return;
	for (size_t i = 0; r && i < size / sizeof(*r); i++)
		list_request(&r[i], to);
	plumb_map_read(bpf_object__find_map_fd_by_name(object, "block_spills"), &spills);
	r = spills.values;
	for (size_t i = 0; i < spills.n; i++)
		list_request(&r[i], to);
}

/* The disk that DEV is, or of which it is a partition. */
static void name_disk(uint32_t dev, char *name, size_t size)
{
	char path[64], target[512], *end;
	ssize_t n;

	plumb_disk_name(dev, name, size);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", dev >> 20, dev & 0xfffff);
	if (access(path, F_OK))
		return;
	*strrchr(path, '/') = 0;
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = 0;
	end = strrchr(target, '/');
	if (!end)
		return;
	*end = 0;
	end = strrchr(target, '/');
	if (end)
		snprintf(name, size, "%s", end + 1);
}

static void name_request(const struct plumb_run *run, const struct plumb_flight *f, char *text,
			 size_t size)
{
	const struct block_request *r = &listed[f->what];
	char disk[BLOCK_DISK_LEN + 1];

	name_disk(r->dev, disk, sizeof(disk));
	snprintf(text, size, "%s %s %u @ %" PRIu64 "%s", disk, op_name(r->op), r->bytes,
		 (uint64_t)r->sector, !stages || r->issued ? "" : ", not issued yet");
}

const struct plumb_inflight block_inflight = {
	.heading = "REQUEST",
	.json = "request",
	.read_rest = read_requests,
	.name = name_request,
};

/* --- slow ones --- */

/* The request's key, for the fields that format keys. */
static struct block_key key_of(const struct block_slow *r)
{
	struct block_key key = {.dev = r->dev, .op = r->op, .flags = r->flags, .error = r->error};

	snprintf(key.disk, sizeof(key.disk), "%.*s", BLOCK_DISK_LEN - 1, r->disk);
	return key;
}

/* R's member that is the key BY. */
static const char *text_of(const struct block_slow *r, uint32_t by, char *text, size_t size)
{
	const struct block_key key = key_of(r);

	for (size_t i = 0; i < BLOCK_N_FIELDS; i++)
		if (block_fields[i].bit == by)
			plumb_field_format(&block_fields[i], &key, text, size);
	return text;
}

static void print_heading(FILE *out)
{
	fprintf(out, " %6s %6s %6s %6s %-7s %-5s %5s %s\n", "TOOK", "BEFORE", "QUEUED", "DEVICE",
		"DISK", "OP", "BYTES", "COMM/TID FLAGS");
}

static void print(const void *record, FILE *out)
{
	const struct block_slow *r = record;
	char text[64], comm[PLUMB_ESCAPED];

	for (int i = 0; i < BLOCK_STAGES; i++)
		fprintf(out, " %6s", plumb_format_time(r->ns[i], PLUMB_AUTO, text, sizeof(text)));
	fprintf(out, " %-7s", text_of(r, BLOCK_BY_DISK, text, sizeof(text)));
	fprintf(out, " %-5s %5s", op_name(r->op),
		plumb_format_time(r->bytes, PLUMB_BYTES, text, sizeof(text)));
	plumb_escape(comm, r->comm, sizeof(comm));
	fprintf(out, " %s/%u", comm, r->tid);
	if (r->flags)
		fprintf(out, " %s", text_of(r, BLOCK_BY_FLAGS, text, sizeof(text)));
	if (r->error)
		fprintf(out, " %s", text_of(r, BLOCK_BY_ERRNO, text, sizeof(text)));
	fputc('\n', out);
}

static void add_json(const void *record, json_t *j)
{
	const struct block_slow *r = record;
	const struct block_key key = key_of(r);
	char text[PLUMB_ESCAPED + 64];

	json_object_set_new(j, "pid", json_integer(r->pid));
	json_object_set_new(j, "tid", json_integer(r->tid));
	plumb_escape(text, r->comm, sizeof(text));
	json_object_set_new(j, "comm", json_string(text));
	for (const struct plumb_field *f = block_fields; f < block_fields + BLOCK_N_FIELDS; f++)
		if (!(f->bit & (BLOCK_BY_SIZE | BLOCK_BY_STAGE))) /* exact below */
			json_object_set_new(j, f->name, plumb_field_json(f, &key));
	json_object_set_new(j, "bytes", json_integer(r->bytes));
	json_object_set_new(j, "sector", plumb_json_u64(r->sector));
	for (int i = 0; i < BLOCK_STAGES; i++)
		json_object_set_new(j, stage_names[i], plumb_json_u64(r->ns[i]));
}

struct plumb_in_order block_slow_requests = {
	.size = sizeof(struct block_slow),
	.heading = print_heading,
	.print = print,
	.json_name = "request",
	.add_json = add_json,
};

/* --- counters --- */

static const struct {
	const char *json, *text;
	size_t at;
} counters[] = {
	{"bypassed", "not queued", offsetof(struct block_counts, bypassed)},
	{"requeued", "requeued", offsetof(struct block_counts, requeued)},
	{"partial", "partial completions", offsetof(struct block_counts, partial)},
	{"merged", "merged into another request", offsetof(struct block_counts, merged)},
	{"merged_bios", "bios merged into a request", offsetof(struct block_counts, bios)},
	{"passed", "bios that ended without a request", offsetof(struct block_counts, passed)},
};

/* This kernel has a hook for what is counted. */
static bool is_seen(size_t counter)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(used, "request_merged_0");

	return counters[counter].at != offsetof(struct block_counts, merged) ||
	       (p && bpf_program__autoload(p));
}

uint64_t block_counted(size_t member)
{
	size_t size;
	const char *counts = plumb_states_variable(used, "block_counts", &size);
	uint64_t sum = 0;

	for (size_t at = 0; counts && at < size; at += sizeof(struct block_counts))
		sum += *(const uint64_t *)(counts + at + member);
	return sum;
}

/* Requests of others, of the disks of which requests were recorded. */
static uint64_t of_others(void)
{
	const int map = bpf_object__find_map_fd_by_name(used, "block_disks");
	const int cpus = libbpf_num_possible_cpus();
	const struct block_disk *disk;
	struct plumb_elements disks = {};
	uint64_t sum = 0;

	plumb_map_read(map, &disks);
	disk = disks.values;
	for (size_t i = 0; i < disks.n; i++) {
		struct block_disk all = {};

		for (int cpu = 0; cpu < cpus; cpu++, disk++) {
			all.traced += disk->traced;
			all.others += disk->others;
		}
		sum += all.traced ? all.others : 0;
	}
	plumb_elements_free(&disks);
	return sum;
}

static void print_others(FILE *out)
{
	const uint64_t n = block_selects ? of_others() : 0;
	char text[256];

	if (!n)
		return;
	snprintf(text, sizeof(text),
		 "not in it: %" PRIu64 " requests of the same disks by others, such as a file "
		 "system's journal, for which a call may wait",
		 n);
	plumb_print_wrapped(text, out);
}

/* Without -v, those of which there are any. */
void block_counts_print(FILE *out)
{
	const char *between = "requests:";
	size_t n = 0;
	char text[256];

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]) && n < sizeof(text); i++) {
		if (!is_seen(i) || !(block_counted(counters[i].at) || plumb_verbosity))
			continue;
		n += snprintf(text + n, sizeof(text) - n, "%s %" PRIu64 " %s", between,
			      block_counted(counters[i].at), counters[i].text);
		between = ",";
	}
	if (n)
		plumb_print_wrapped(text, out);
	print_others(out);
}

void block_counts_json(json_t *json, const struct plumb_report *r)
{
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		json_object_set_new(json, counters[i].json,
				    is_seen(i) ? plumb_json_u64(block_counted(counters[i].at))
					       : json_null());
	json_object_set_new(json, "others",
			    block_selects ? plumb_json_u64(of_others()) : json_null());
}
