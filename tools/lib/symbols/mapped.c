/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "mapped.h"

#include <linux/perf_event.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>

#include "sideband.h"

#define ENDED 4096  /* processes that are remembered after their end */
#define MOST  32768 /* processes, after which all are forgotten */
#define AREAS 4096  /* of a process; the later half stays */

struct area {
	uint64_t start, end, offset;
	uint64_t device, inode; /* inode 0: not known yet, if there is a build id */
	unsigned char build_id[20];
	uint8_t build_id_size;
	uint32_t image; /* the how manieth program that the process executed; 0: it has it from its
			   parent */
	char *path;
};

struct seen {
	pid_t pid, parent;
	pid_t before; /* has what it had mapped before its own areas; 0: none */
	struct area *areas;
	size_t n;
	uint32_t image;
	bool has_ended, has_changed;
	struct seen *next; /* that ended after it */
};

struct plumb_mapped {
	struct plumb_sideband *sideband;
	void *processes;            /* tsearch(), struct seen by pid */
	struct seen *ended, **last; /* those that have, the first first */
	size_t n_ended, n;
	uint64_t lost; /* reports, of those that were taken last */
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
	s->n = s->image = 0;
	s->before = 0;
}

static void free_seen(void *seen)
{
	clear(seen);
	free(seen);
}

/* Where reports are lost, the ends of processes are, too. */
static void forget_all(struct plumb_mapped *m)
{
	tdestroy(m->processes, free_seen);
	m->processes = NULL;
	m->ended = NULL;
	m->last = &m->ended;
	m->n_ended = m->n = 0;
}

static struct seen *find_or_add(struct plumb_mapped *m, pid_t pid)
{
	struct seen *s = find(m, pid);

	if (s)
		return s;
	if (m->n == MOST)
		forget_all(m);
	m->n++;
	s = plumb_zeroed(1, sizeof(*s));
	s->pid = pid;
	plumb_required(tsearch(s, &m->processes, by_pid));
	return s;
}

static void forget(struct plumb_mapped *m, struct seen *s)
{
	tdelete(s, &m->processes, by_pid);
	m->n--;
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

static void drop_half(struct seen *s)
{
	for (size_t i = 0; i < AREAS / 2; i++)
		free(s->areas[i].path);
	s->n -= AREAS / 2;
	memmove(s->areas, s->areas + AREAS / 2, s->n * sizeof(*s->areas));
}

/* The two records of one mapping have the inode, and the build id. */
static bool is_same(const struct area *a, const struct area *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->image == b->image && !strcmp(a->path, b->path) &&
	       (a->build_id_size && b->build_id_size
			? !memcmp(a->build_id, b->build_id, sizeof(a->build_id))
			: !a->inode != !b->inode ||
				  (a->device == b->device && a->inode == b->inode));
}

static void complete(struct area *to, const struct area *from)
{
	if (from->inode) {
		to->device = from->device;
		to->inode = from->inode;
	}
	if (from->build_id_size) {
		memcpy(to->build_id, from->build_id, sizeof(to->build_id));
		to->build_id_size = from->build_id_size;
	}
}

/* Each once, however often a library is loaded. */
static void add_area(struct seen *s, const struct area *area)
{
	struct area *to;

	for (size_t i = s->n; i-- > 0;)
		if (is_same(&s->areas[i], area)) {
			complete(&s->areas[i], area);
			return;
		}
	if (s->n == AREAS)
		drop_half(s);
	to = plumb_append(s->areas, s->n);
	*to = *area;
	to->path = plumb_copied(area->path);
}

/* --- records, as of perf_event_open(2) --- */

struct fork_record {
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time;
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, n;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};

struct mmap_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		};
		struct { /* PERF_RECORD_MISC_MMAP_BUILD_ID */
			uint8_t build_id_size, reserved[3];
			unsigned char build_id[20];
		};
	};
	uint32_t protection, flags;
	char path[];
};

static void forked(struct plumb_mapped *m, const struct fork_record *r)
{
	const struct seen *parent;
	struct area area;
	struct seen *s;

	if (r->pid == r->parent) /* a thread */
		return;
	s = begin(m, r->pid);
	parent = find(m, r->parent);
	clear(s);
	s->parent = r->parent;
	s->before = !parent ? (pid_t)r->parent : parent->image ? 0 : parent->before;
	for (size_t i = 0; parent && i < parent->n; i++) {
		area = parent->areas[i];
		if (area.image != parent->image)
			continue;
		area.image = 0;
		add_area(s, &area);
	}
}

/*
 * Where another program has such an event, too, the kernel also marks records that have the inode:
 * their major number is in the place of the size.
 */
static bool has_build_id(const struct mmap_record *r)
{
	return r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID && r->build_id_size >= 16 &&
	       r->build_id_size <= sizeof(r->build_id) && !r->reserved[0] && !r->reserved[1] &&
	       !r->reserved[2];
}

static void mapped(struct plumb_mapped *m, const struct mmap_record *r)
{
	struct area area = {
		.start = r->start,
		.end = r->start + r->length,
		.offset = r->offset,
		.path = (char *)r->path,
	};
	struct seen *s;

	if (has_build_id(r)) {
		area.build_id_size = r->build_id_size;
		memcpy(area.build_id, r->build_id, sizeof(area.build_id));
	} else {
		area.device = (uint64_t)r->major << 32 | r->minor;
		area.inode = r->inode;
	}

	if (r->pid == (uint32_t)-1) /* the kernel's own */
		return;
	s = find_or_add(m, r->pid);
	area.image = s->image;
	add_area(s, &area);
	s->has_changed = true;
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
			find_or_add(m, ((const struct comm_record *)h)->pid)->image++;
		break;
	case PERF_RECORD_MMAP2:
		mapped(m, (const void *)h);
		break;
	case PERF_RECORD_LOST:
		m->lost += ((const struct lost_record *)h)->n;
		break;
	}
}

/* --- the whole --- */

static void take(void *m, const struct perf_event_header *h)
{
	apply(m, h);
}

uint64_t plumb_mapped_take(struct plumb_mapped *m)
{
	m->lost = 0;
	plumb_sideband_take(m->sideband, take, m);
	return m->lost;
}

struct plumb_mapped *plumb_mapped_open(void)
{
	struct plumb_sideband *sideband = plumb_sideband_open();
	struct plumb_mapped *m;

	if (!sideband)
		return NULL;
	m = plumb_zeroed(1, sizeof(*m));
	m->sideband = sideband;
	m->last = &m->ended;
	return m;
}

void plumb_mapped_free(struct plumb_mapped *m)
{
	plumb_sideband_free(m->sideband);
	tdestroy(m->processes, free_seen);
	free(m);
}

pid_t plumb_mapped_parent(const struct plumb_mapped *m, pid_t pid)
{
	const struct seen *s = find(m, pid);

	return s ? s->parent : 0;
}

bool plumb_mapped_has_changed(struct plumb_mapped *m, pid_t pid)
{
	struct seen *s = find(m, pid);
	const bool has = s && s->has_changed;

	if (has)
		s->has_changed = false;
	return has;
}

void plumb_mapped_of(struct plumb_mapped *m, pid_t pid, enum plumb_mapped_which which,
		     int (*each)(void *context, struct plumb_vma *vma), void *context)
{
	const struct seen *s = find(m, pid);

	if (s && s->before && which == PLUMB_MAPPED_INHERITED)
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
			.build_id = a->build_id,
			.build_id_size = a->build_id_size,
		};

		if (a->build_id_size && !a->inode)
			continue;
		if (which == PLUMB_MAPPED_NOW        ? a->image != s->image
		    : which == PLUMB_MAPPED_EXECUTED ? !a->image
						     : a->image)
			continue;
		vma.path = plumb_copied(a->path);
		vma.is_deleted = vma.inode && plumb_maps_cut_deleted(vma.path);
		each(context, &vma);
		free(vma.path);
	}
}
