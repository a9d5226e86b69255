/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "mapped.h"

#include <linux/perf_event.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <plumb/core/memory.h>
#include <plumb/core/tracepoint.h>

#include <bpf/libbpf.h>

#define RING  (128UL << 10) /* bytes of each CPU; a program that is executed takes about 1 kB */
#define ENDED 4096          /* processes that are remembered after their end */

struct area {
	uint64_t start, end, offset, device, inode;
	char *path;
};

struct seen {
	pid_t pid, parent;
	pid_t before; /* has what it had mapped before; 0: it has executed a program since */
	struct area *areas;
	size_t n;
	bool has_ended;
	struct seen *next; /* that ended after it */
};

struct ring {
	int event;
	struct perf_event_mmap_page *page; /* followed by the records */
};

/* A record that was taken from a ring. */
struct record {
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	struct perf_event_header *header;
};

struct plumb_mapped {
	struct ring *rings;
	size_t n_rings;
	struct record *records; /* of all rings */
	size_t n_records;
	void *processes;            /* tsearch(), struct seen by pid */
	struct seen *ended, **last; /* those that have, the first first */
	size_t n_ended;
};

/* --- processes --- */

static int by_pid(const void *a, const void *b)
{
	const struct seen *p = a, *q = b;

	return (p->pid > q->pid) - (p->pid < q->pid);
}

static struct seen *find(const struct plumb_mapped *m, pid_t pid)
{
	struct seen **found = tfind(&(struct seen){.pid = pid}, &m->processes, by_pid);

	return found ? *found : NULL;
}

static void clear(struct seen *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->areas[i].path);
	free(s->areas);
	s->areas = NULL;
	s->n = 0;
	s->before = 0;
}

static void free_seen(void *seen)
{
	clear(seen);
	free(seen);
}

static struct seen *find_or_add(struct plumb_mapped *m, pid_t pid)
{
	struct seen *s = find(m, pid);

	if (s)
		return s;
	s = plumb_zeroed(1, sizeof(*s));
	s->pid = pid;
	plumb_required(tsearch(s, &m->processes, by_pid));
	return s;
}

static void forget(struct plumb_mapped *m, struct seen *s)
{
	tdelete(s, &m->processes, by_pid);
	free_seen(s);
}

static void end(struct plumb_mapped *m, struct seen *s)
{
	struct seen *first;

	if (s->has_ended)
		return;
	s->has_ended = true;
	s->next = NULL;
	*m->last = s;
	m->last = &s->next;
	if (++m->n_ended <= ENDED)
		return;
	first = m->ended;
	m->ended = first->next;
	m->n_ended--;
	forget(m, first);
}

/* A process has this number now; one that had it before is over, and is not in the list. */
static struct seen *begin(struct plumb_mapped *m, pid_t pid)
{
	struct seen *s = find(m, pid), **at = &m->ended;

	if (!s || !s->has_ended)
		return find_or_add(m, pid);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (m->last == &s->next)
		m->last = at;
	m->n_ended--;
	clear(s);
	s->has_ended = false;
	return s;
}

static void add_area(struct seen *s, const struct area *area)
{
	struct area *to = plumb_append(s->areas, s->n);

	*to = *area;
	to->path = plumb_copied(area->path);
}

/* --- records, as of perf_event_open(2) --- */

struct fork_record {
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};

struct mmap_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[];
};

static void forked(struct plumb_mapped *m, const struct fork_record *r)
{
	const struct seen *parent;
	struct seen *s;

	if (r->pid == r->parent) /* a thread */
		return;
	s = begin(m, r->pid);
	parent = find(m, r->parent);
	clear(s);
	s->parent = r->parent;
	s->before = parent ? parent->before : (pid_t)r->parent;
	for (size_t i = 0; parent && i < parent->n; i++)
		add_area(s, &parent->areas[i]);
}

static void mapped(struct plumb_mapped *m, const struct mmap_record *r)
{
	struct area area = {
		.start = r->start,
		.end = r->start + r->length,
		.offset = r->offset,
		.device = (uint64_t)r->major << 32 | r->minor,
		.inode = r->inode,
		.path = (char *)r->path,
	};

	if (r->pid != (uint32_t)-1) /* the kernel's own */
		add_area(find_or_add(m, r->pid), &area);
}

static void apply(struct plumb_mapped *m, const struct perf_event_header *h)
{
	const struct fork_record *r = (const void *)h;
	struct seen *s;

	switch (h->type) {
	case PERF_RECORD_FORK:
		forked(m, r);
		break;
	case PERF_RECORD_EXIT:
		s = find(m, r->pid);
		if (s && r->tid == r->pid)
			end(m, s);
		break;
	case PERF_RECORD_COMM:
		if (h->misc & PERF_RECORD_MISC_COMM_EXEC)
			clear(find_or_add(m, ((const struct comm_record *)h)->pid));
		break;
	case PERF_RECORD_MMAP2:
		mapped(m, (const void *)h);
		break;
	}
}

/* --- rings --- */

static int by_time(const void *a, const void *b)
{
	const struct record *p = a, *q = b;

	return (p->time > q->time) - (p->time < q->time);
}

/* Copies a record that may go on at the ring's beginning. */
static void take_record(struct plumb_mapped *m, const char *data, uint64_t at, uint16_t size)
{
	struct record *r = plumb_append(m->records, m->n_records);
	char *copy = plumb_zeroed(1, size);

	for (uint16_t i = 0; i < size; i++)
		copy[i] = data[(at + i) & (RING - 1)];
	r->header = (void *)copy;
	/* The time is the last word of each. */
	memcpy(&r->time, copy + size - sizeof(r->time), sizeof(r->time));
}

static void take_ring(struct plumb_mapped *m, const struct ring *ring)
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
		take_record(m, data, at, h->size);
		at += h->size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

void plumb_mapped_take(struct plumb_mapped *m)
{
	for (size_t i = 0; i < m->n_rings; i++)
		take_ring(m, &m->rings[i]);
	/* A process can change its CPU meanwhile. */
	qsort(m->records, m->n_records, sizeof(*m->records), by_time);
	for (size_t i = 0; i < m->n_records; i++) {
		apply(m, m->records[i].header);
		free(m->records[i].header);
	}
	free(m->records);
	m->records = NULL;
	m->n_records = 0;
}

static void open_ring(struct plumb_mapped *m, int cpu)
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
	struct ring ring = {.event = plumb_probe_open_event(&attr, cpu)};

	if (ring.event < 0)
		return;
	ring.page = mmap(NULL, sysconf(_SC_PAGESIZE) + RING, PROT_READ | PROT_WRITE, MAP_SHARED,
			 ring.event, 0);
	if (ring.page == MAP_FAILED)
		close(ring.event);
	else
		*plumb_append(m->rings, m->n_rings) = ring;
}

struct plumb_mapped *plumb_mapped_open(void)
{
	struct plumb_mapped *m = plumb_zeroed(1, sizeof(*m));

	m->last = &m->ended;
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++)
		open_ring(m, cpu);
	if (m->n_rings)
		return m;
	free(m);
	return NULL;
}

void plumb_mapped_free(struct plumb_mapped *m)
{
	for (size_t i = 0; i < m->n_rings; i++) {
		munmap(m->rings[i].page, sysconf(_SC_PAGESIZE) + RING);
		close(m->rings[i].event);
	}
	free(m->rings);
	tdestroy(m->processes, free_seen);
	free(m);
}

pid_t plumb_mapped_parent(const struct plumb_mapped *m, pid_t pid)
{
	const struct seen *s = find(m, pid);

	return s ? s->parent : 0;
}

void plumb_mapped_of(struct plumb_mapped *m, pid_t pid,
		     int (*each)(void *context, struct plumb_vma *vma), void *context)
{
	const struct seen *s = find(m, pid);

	if (s && s->before)
		plumb_maps_of(s->before, each, context);
	for (size_t i = 0; s && i < s->n; i++) {
		const struct area *a = &s->areas[i];
		struct plumb_vma vma = {
			.start = a->start,
			.end = a->end,
			.offset = a->offset,
			.device = a->device,
			.inode = a->inode,
			.is_code = true,
			.path = plumb_copied(a->path),
		};

		vma.is_deleted = vma.inode && plumb_maps_cut_deleted(vma.path);
		each(context, &vma);
		free(vma.path);
	}
}
