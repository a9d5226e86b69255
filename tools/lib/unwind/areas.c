/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/memory.h>
#include <plumb/core/run.h>
#include <plumb/inflight/inflight.h>
#include <plumb/symbols/maps.h>
#include <plumb/symbols/symbols.h>
#include <plumb/unwind/unwind.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "areas.h"
#include "files.h"

#define AT_START   (3 * PLUMB_SECOND)
#define ROW_BYTES  50 /* of a file have a row at most, as a rule: bash 65, libc 80, qemu 120 */
#define MORE_ROWS  (512U << 10) /* for what is mapped later: 4 MB */
#define MORE_AREAS 4096
#define MOST_ROWS  (8U << 20) /* 64 MB */
#define TURN       10000000   /* ns of CPU time: then records of programs are read */
/* A process is not looked at again for so many times the CPU time of that, without that of its
 * files; ns at least, if nothing has changed. */
#define REST       4
#define REST_LEAST 10000000
/* For so long after a process has mapped code it is asked more often whether some has, ns. */
#define CHANGING       PLUMB_SECOND
#define CHANGING_EVERY 1000000

/* Of all processes, by tgid and address; MAPPED: what programs have, both arrays of HALF. */
static struct plumb_unwind_area *areas, *mapped;
static size_t n_areas, half;
static struct plumb_unwind_image *images; /* plumb_unwind_images */
static uint64_t *now;                     /* plumb_unwind_now */
static uint64_t changed;                  /* when it did, ns */
static bool is_due;                       /* AREAS has changed since */
static uint64_t renewed;                  /* when a process with areas had mapped code, ns */

/* Processes of which stacks were taken. */
static struct wanted {
	pid_t pid;
	bool is_wanted; /* since it was looked at */
	uint64_t when;  /* not before that, ns */
} * wanted;
static size_t n_wanted;

/* --- the areas of a process --- */

struct reading {
	pid_t pid;
	uint64_t image;
	uint64_t spent;  /* CPU time for files, before */
	bool is_partial; /* there are files that are not read yet */
	struct plumb_unwind_area *found;
	size_t n;
};

static int read_area(void *context, struct plumb_vma *vma)
{
	struct plumb_unwind_area area = {};
	struct reading *r = context;
	const struct unwind_file *f = NULL;
	bool later = unwind_files_spent() - r->spent > TURN;

	if (vma->is_code) {
		f = unwind_file_of(r->pid, vma, &later);
		r->is_partial |= later;
	}
	if (f)
		unwind_file_area(f, vma, &area);
	/* The kernel's copies of instructions that are probed: of functions of all kinds. */
	else if (vma->is_code && !strcmp(vma->path, "[uprobes]"))
		area = (struct plumb_unwind_area){
			.begin = vma->start, .end = vma->end, .base = vma->start, .n = 1};
	if (!area.n)
		return 0;
	area.tgid = r->pid;
	area.image = r->image;
	*plumb_append(r->found, r->n) = area;
	return 0;
}

/* Where the areas of PID begin, and would. */
static size_t first_of(uint32_t pid)
{
	size_t low = 0, high = n_areas, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (areas[middle].tgid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts those of R in the place of the earlier ones of its process; false: they are the same. */
static bool replace(const struct reading *r)
{
	const size_t first = first_of(r->pid), end = first_of(r->pid + 1);
	struct plumb_unwind_area *all;

	if (end - first == r->n && (!r->n || !memcmp(areas + first, r->found, r->n * sizeof(*all))))
		return false;
	all = plumb_zeroed(n_areas - (end - first) + r->n, sizeof(*all));
	memcpy(all, areas, first * sizeof(*all));
	memcpy(all + first, r->found, r->n * sizeof(*all));
	memcpy(all + first + r->n, areas + end, (n_areas - end) * sizeof(*all));
	n_areas += r->n - (end - first);
	free(areas);
	areas = all;
	is_due = true;
	return true;
}

/*
 * Looks at it, and says when to look again: ns from now.  A process that has changed is likely to
 * do so again: one that executes a program maps its libraries.
 */
static uint64_t look_at(struct wanted *w)
{
	struct reading r = {
		.pid = w->pid,
		.image = plumb_process_image(w->pid),
		.spent = unwind_files_spent(),
	};
	uint64_t rest = plumb_cpu_time();
	bool has_changed = false;

	if (r.image && !plumb_maps_of(w->pid, read_area, &r) &&
	    plumb_process_image(w->pid) == r.image)
		has_changed = replace(&r);
	free(r.found);
	w->is_wanted = r.is_partial;
	if (r.is_partial)
		return 0;
	/* What files took, they take once. */
	rest = REST * (plumb_cpu_time() - rest - (unwind_files_spent() - r.spent));
	return has_changed || rest > REST_LEAST ? rest : REST_LEAST;
}

/* --- what programs have --- */

/* Removes what processes had that have ended, or executed something else. */
static void drop_ended(void)
{
	bool is_there = false;
	uint32_t pid = 0;
	size_t n = 0;

	for (size_t i = 0; i < n_areas; i++) {
		if (areas[i].tgid != pid)
			is_there = plumb_process_image(areas[i].tgid) == areas[i].image;
		pid = areas[i].tgid;
		if (is_there)
			areas[n++] = areas[i];
	}
	n_areas = n;
}

/* A program that reads it meanwhile finds none. */
static void put_image(const struct plumb_unwind_area *area)
{
	struct plumb_unwind_image *i = &images[area->image >> (64 - PLUMB_UNWIND_IMAGE_BITS)];

	if (i->image == area->image && i->tgid == area->tgid)
		return;
	__atomic_store_n(&i->tgid, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&i->image, area->image, __ATOMIC_RELEASE);
	__atomic_store_n(&i->tgid, area->tgid, __ATOMIC_RELEASE);
}

/* Programs may still read the array that was in use before the last change. */
static void publish(void)
{
	const size_t room = half < PLUMB_UNWIND_AREAS ? half : PLUMB_UNWIND_AREAS;
	size_t first;

	if (!is_due || !mapped || plumb_now() < changed + PLUMB_UNWIND_PAUSE)
		return;
	is_due = false;
	if (n_areas > room)
		drop_ended();
	if (n_areas > room)
		return; /* until something changes */
	first = *now >> 32 ? 0 : half;
	memcpy(mapped + first, areas, n_areas * sizeof(*areas));
	__atomic_store_n(now, (uint64_t)first << 32 | n_areas, __ATOMIC_RELEASE);
	for (size_t i = 0; i < n_areas; i++)
		if (!i || areas[i].tgid != areas[i - 1].tgid)
			put_image(&areas[i]);
	changed = plumb_now();
}

/*
 * How much room the tables need is guessed by the sizes of the files.  These are read when the tool
 * is confined: what a process has mapped may be anyone's.
 */
static struct need {
	struct {
		uint64_t device, inode;
	} * seen;
	size_t n_seen, areas;
	uint64_t bytes;
	uint32_t pid;
} need;

void plumb_unwind_note(pid_t pid)
{
	if (!half && !need.pid) /* there are no tables */
		return;
	for (size_t i = 0; i < n_wanted; i++)
		if (wanted[i].pid == pid) {
			wanted[i].is_wanted = true;
			return;
		}
	*plumb_append(wanted, n_wanted) = (struct wanted){pid, true, 0};
}

void plumb_unwind_renew(bool (*has_changed)(pid_t pid))
{
	uint32_t pid = 0;

	for (size_t i = 0; i < n_areas; i++) {
		if (areas[i].tgid != pid && has_changed(areas[i].tgid)) {
			plumb_unwind_note(areas[i].tgid);
			renewed = plumb_now();
		}
		pid = areas[i].tgid;
	}
}

static int add_need(void *context, struct plumb_vma *vma)
{
	struct need *n = context;
	struct stat st;

	n->areas += vma->is_code;
	if (!vma->is_code || !vma->inode)
		return 0;
	for (size_t i = 0; i < n->n_seen; i++)
		if (n->seen[i].inode == vma->inode && n->seen[i].device == vma->device)
			return 0;
	plumb_append(n->seen, n->n_seen)->device = vma->device;
	n->seen[n->n_seen - 1].inode = vma->inode;
	if (!plumb_map_stat(n->pid, vma, &st) && S_ISREG(st.st_mode))
		n->bytes += st.st_size;
	return 0;
}

static void look_first(void *context, uint32_t pid, uint32_t tid)
{
	struct need *n = context;

	if (pid == n->pid)
		return;
	n->pid = pid;
	plumb_maps_of(pid, add_need, n);
	plumb_unwind_note(pid);
}

void plumb_unwind_configure(const struct plumb_run *run, const struct plumb_bpf *bpf,
			    bool calibration)
{
	uint64_t rows;

	if (calibration || unwind_how == PLUMB_USER_STACKS_FP ||
	    unwind_how == PLUMB_USER_STACKS_NONE)
		return;
	/* The command is likely to use libraries that the tool's caller uses, too. */
	if (!need.areas && run->child)
		look_first(&need, getppid(), 0);
	else if (!need.areas)
		plumb_threads_each(run, plumb_now() + AT_START, look_first, &need);
	rows = need.bytes / ROW_BYTES + MORE_ROWS;
	half = 2 * need.areas + MORE_AREAS;
	bpf_map__set_max_entries(bpf_object__find_map_by_name(bpf->object, "plumb_unwind_rows"),
				 rows < MOST_ROWS ? rows : MOST_ROWS);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(bpf->object, "plumb_unwind_areas"),
				 2 * half);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(bpf->object, "plumb_unwind_images"),
				 1U << PLUMB_UNWIND_IMAGE_BITS);
}

static void *map_of(const struct plumb_bpf *bpf, const char *name, size_t *entries)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(bpf->object, name);
	const size_t page = sysconf(_SC_PAGESIZE);
	size_t size;
	void *at;

	*entries = bpf_map__max_entries(map);
	size = (*entries * bpf_map__value_size(map) + page - 1) / page * page;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	return at == MAP_FAILED ? NULL : at;
}

int plumb_unwind_fill(const struct plumb_bpf *bpf)
{
	size_t room, n;
	void *rows;

	if (bpf_map__max_entries(bpf_object__find_map_by_name(bpf->object, "plumb_unwind_areas")) ==
	    1)
		return 0; /* a calibration, or no user stacks */
	rows = map_of(bpf, "plumb_unwind_rows", &room);
	mapped = map_of(bpf, "plumb_unwind_areas", &n);
	now = map_of(bpf, "plumb_unwind_now", &n);
	images = map_of(bpf, "plumb_unwind_images", &n);
	if (!rows || !mapped || !now || !images)
		return -errno;
	unwind_files_use(rows, room);
	return 0;
}

/* --- while programs run --- */

uint64_t plumb_unwind_due(void)
{
	const uint64_t deadline = plumb_cpu_time() + TURN;
	uint64_t at = plumb_now(), next = 0, rest;
	size_t n = 0;

	for (size_t i = 0; i < n_wanted; i++) {
		struct wanted *w = &wanted[i];

		if (w->is_wanted && at >= w->when && plumb_cpu_time() < deadline) {
			rest = look_at(w);
			at = plumb_now();
			w->when = at + rest;
		}
		if (w->is_wanted)
			next = plumb_sooner(next, w->when > at ? w->when - at : 1);
		if (w->is_wanted || at < w->when)
			wanted[n++] = *w;
	}
	n_wanted = n;
	publish();
	if (is_due && mapped)
		next = plumb_sooner(next, PLUMB_UNWIND_PAUSE);
	/* The library that it maps next may have the place of this one. */
	if (renewed && at < renewed + CHANGING)
		next = plumb_sooner(next, CHANGING_EVERY);
	return next;
}

bool plumb_unwind_is_full(void)
{
	return unwind_files_are_full();
}
