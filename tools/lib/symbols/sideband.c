/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "sideband.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <plumb/core/memory.h>
#include <plumb/core/tracepoint.h>

#include <bpf/libbpf.h>

#define RING (256UL << 10) /* bytes of each CPU; a program that is executed takes about 2 kB */

struct ring {
	int event;
	int builds; /* another event, to the same ring, that reports build ids; -1: none */
	struct perf_event_mmap_page *page; /* followed by the records */
};

/* A record that was taken from a ring. */
struct record {
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	struct perf_event_header *header;
};

struct plumb_sideband {
	struct ring *rings;
	size_t n_rings;
	struct record *records; /* of all rings */
	size_t n_records;
};

static int by_time(const void *a, const void *b)
{
	const struct record *p = a, *q = b;

	return (p->time > q->time) - (p->time < q->time);
}

/* Copies a record that may go on at the ring's beginning. */
static void take_record(struct plumb_sideband *s, const char *data, uint64_t at, uint16_t size)
{
	struct record *r = plumb_append(s->records, s->n_records);
	char *copy = plumb_zeroed(1, size);

	for (uint16_t i = 0; i < size; i++)
		copy[i] = data[(at + i) & (RING - 1)];
	r->header = (void *)copy;
	/* The time is the last word of each. */
	memcpy(&r->time, copy + size - sizeof(r->time), sizeof(r->time));
}

static void take_ring(struct plumb_sideband *s, const struct ring *ring)
{
	const char *data = (const char *)ring->page + sysconf(_SC_PAGESIZE);
	const uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = ring->page->data_tail;
	const struct perf_event_header *h;

	while (at < head) {
		/* A header of 8 bytes is never divided: sizes are multiples of that. */
		h = (const void *)(data + (at & (RING - 1)));
		if (h->size < sizeof(*h) + sizeof(uint64_t))
			break;
		take_record(s, data, at, h->size);
		at += h->size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

void plumb_sideband_take(struct plumb_sideband *s,
			 void (*each)(void *context, const struct perf_event_header *h),
			 void *context)
{
	for (size_t i = 0; i < s->n_rings; i++)
		take_ring(s, &s->rings[i]);
	/* A process can change its CPU meanwhile. */
	qsort(s->records, s->n_records, sizeof(*s->records), by_time);
	for (size_t i = 0; i < s->n_records; i++) {
		each(context, s->records[i].header);
		free(s->records[i].header);
	}
	free(s->records);
	s->records = NULL;
	s->n_records = 0;
}

/*
 * Build ids take the place of inodes in records: that is another event.  Since 5.12.  The kernel
 * reports to the event that was opened last first, and marks what follows as this one's: so this
 * one is opened first.
 */
static int open_builds(struct perf_event_attr attr, int cpu)
{
	attr.build_id = 1;
	attr.comm = attr.comm_exec = attr.task = 0;
	return plumb_probe_open_event(&attr, cpu);
}

static void close_builds(struct ring *ring)
{
	if (ring->builds >= 0)
		close(ring->builds);
	ring->builds = -1;
}

static void open_ring(struct plumb_sideband *s, int cpu)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
	};
	struct ring ring = {.builds = open_builds(attr, cpu)};

	ring.event = plumb_probe_open_event(&attr, cpu);
	if (ring.event < 0) {
		close_builds(&ring);
		return;
	}
	ring.page = mmap(NULL, sysconf(_SC_PAGESIZE) + RING, PROT_READ | PROT_WRITE, MAP_SHARED,
			 ring.event, 0);
	if (ring.page == MAP_FAILED) {
		close(ring.event);
		close_builds(&ring);
		return;
	}
	if (ring.builds >= 0 && ioctl(ring.builds, PERF_EVENT_IOC_SET_OUTPUT, ring.event))
		close_builds(&ring);
	*plumb_append(s->rings, s->n_rings) = ring;
}

struct plumb_sideband *plumb_sideband_open(void)
{
	struct plumb_sideband *s = plumb_zeroed(1, sizeof(*s));

	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		open_ring(s, cpu);
	if (s->n_rings)
		return s;
	free(s);
	return NULL;
}

void plumb_sideband_free(struct plumb_sideband *s)
{
	for (size_t i = 0; i < s->n_rings; i++) {
		munmap(s->rings[i].page, sysconf(_SC_PAGESIZE) + RING);
		close_builds(&s->rings[i]);
		close(s->rings[i].event);
	}
	free(s->rings);
	free(s);
}
