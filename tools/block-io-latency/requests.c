/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "requests.h"

#include <inttypes.h>
#include <stdlib.h>
#include <plumb/core/json.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/functions/disk.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/map.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "fields.h"

static const struct bpf_object *used;

static bool selects; /* not all threads */

void block_requests_of(const struct plumb_options *o)
{
	selects = o->n_pids || o->n_tids || o->n_comms_typed || o->n_cgroups || o->command;
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

static void read_requests(const struct plumb_run *run, struct plumb_flights *to)
{
	int map = bpf_object__find_map_fd_by_name(run->instance.bpf.object, "block_requests");
	uint64_t id, *previous = NULL;
	struct block_request *r;

	n_listed = 0;
	if (!listed)
		listed = calloc(BLOCK_REQUESTS, sizeof(*listed));
	/* If one is deleted meanwhile, the iteration restarts: some are read twice. */
	while (listed && n_listed < BLOCK_REQUESTS && !bpf_map_get_next_key(map, previous, &id)) {
		previous = &id;
		r = &listed[n_listed];
		if (plumb_map_lookup(map, &id, r) || !r->start || r->rejected)
			continue;
		plumb_flights_add(to, &(struct plumb_flight){
					      .start = r->start,
					      .pid = r->pid,
					      .tid = r->tid,
					      .what = n_listed++,
					      .kernel = PLUMB_NO_STACK,
					      .user = PLUMB_NO_STACK,
				      });
	}
}

static void name_request(const struct plumb_run *run, const struct plumb_flight *f, char *text,
			 size_t size)
{
	const struct block_request *r = &listed[f->what];
	char disk[BLOCK_DISK_LEN + 1];

	(void)run;
	if (*r->key.disk)
		snprintf(disk, sizeof(disk), "%.*s", BLOCK_DISK_LEN, r->key.disk);
	else /* the programs read the name of its disk when it is issued */
		plumb_disk_name(r->key.dev, disk, sizeof(disk));
	snprintf(text, size, "%s %s %u @ %" PRIu64 "%s", disk, block_op_name(r->key.op), r->bytes,
		 (uint64_t)r->sector, r->issued ? "" : ", not issued yet");
}

const struct plumb_inflight block_inflight = {
	.heading = "REQUEST",
	.json = "request",
	.read_rest = read_requests,
	.name = name_request,
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

static uint64_t value_of(size_t counter)
{
	size_t size;
	const char *counts = plumb_states_variable(used, "block_counts", &size);
	uint64_t sum = 0;

	for (size_t at = 0; counts && at < size; at += sizeof(struct block_counts))
		sum += *(const uint64_t *)(counts + at + counters[counter].at);
	return sum;
}

/* Requests of others, of the disks of which requests were recorded. */
static uint64_t of_others(void)
{
	const int map = bpf_object__find_map_fd_by_name(used, "block_disks");
	const int cpus = libbpf_num_possible_cpus();
	struct block_disk *disk = calloc(cpus, sizeof(*disk));
	uint64_t id, *previous = NULL, sum = 0;

	for (int i = 0; disk && i < BLOCK_DISKS && !bpf_map_get_next_key(map, previous, &id); i++) {
		struct block_disk all = {};

		previous = &id;
		if (plumb_map_lookup(map, &id, disk))
			continue;
		for (int cpu = 0; cpu < cpus; cpu++) {
			all.traced += disk[cpu].traced;
			all.others += disk[cpu].others;
		}
		sum += all.traced ? all.others : 0;
	}
	free(disk);
	return sum;
}

static void print_others(FILE *out)
{
	const uint64_t n = selects ? of_others() : 0;
	char text[256];

	if (!n)
		return;
	snprintf(text, sizeof(text),
		 "not in it: %" PRIu64 " requests of the same disks by others, such as a file "
		 "system's journal, for which a call may wait",
		 n);
	plumb_print_wrapped(text, out);
}

void block_counts_print(FILE *out)
{
	size_t n = 0;
	char text[256];

	n += snprintf(text, sizeof(text), "requests:");
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]) && n < sizeof(text); i++)
		if (is_seen(i))
			n += snprintf(text + n, sizeof(text) - n, "%s %" PRIu64 " %s", i ? "," : "",
				      value_of(i), counters[i].text);
	plumb_print_wrapped(text, out);
	print_others(out);
}

void block_counts_json(json_t *json, const struct plumb_report *r)
{
	(void)r;
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		json_object_set_new(json, counters[i].json,
				    is_seen(i) ? plumb_json_u64(value_of(i)) : json_null());
	json_object_set_new(json, "others", selects ? plumb_json_u64(of_others()) : json_null());
}
