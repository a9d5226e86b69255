/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "heads.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/memory.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>
#include <plumb/split/heads.h>
#include <plumb/split/waker.h>
#include <plumb/stacks/stacks.h>

#include "offcpu-time.h"

#define SMALL 100 /* waits of less than a hundredth of all time are not worth a line */

/* Where threads sleep until another one releases something. */
static const char *const locks[] = {"rwsem_down_*",         "__mutex_lock*",
				    "mutex_lock*",          "__rt_mutex_*",
				    "rt_mutex_*",           "__down_*",
				    "percpu_rwsem_*",       "futex_lock_pi",
				    "*lock_inode_wait",     "*_flock",
				    "fcntl_setlk*",         "do_lock_file_wait",
				    "lock_mm_and_find_vma", NULL};
/* They are about all such sleeps. */
static const char *const sleeping[] = {"__schedule", "schedule*", "preempt_schedule*", NULL};

/* What there is to hold, by the function in which threads wait for it. */
struct place {
	char *function;
	uint64_t ns;
};

struct heads {
	struct plumb_head *all; /* by the time that threads waited for what they held */
	size_t n;
	struct place *places; /* plumb_head.what is the number of one */
	size_t n_places;
};

static bool is_any(const char *name, const char *const *patterns)
{
	while (*patterns && fnmatch(*patterns, name, 0))
		patterns++;
	return *patterns;
}

static const struct offcpu_key *key_of(const struct plumb_row *row)
{
	return row->key;
}

static void name(const struct plumb_report *r, const struct plumb_row *row, struct plumb_frames *f)
{
	f->n = f->n_kernel = 0;
	plumb_frames_name(f, r->run->instance.bpf.object, &key_of(row)->stack);
}

/* The number of the place with that function, added if it is new. */
static size_t number_of(struct heads *h, const char *function)
{
	size_t i;

	for (i = 0; i < h->n_places && strcmp(h->places[i].function, function) != 0; i++)
		;
	if (i == h->n_places)
		*plumb_append(h->places, h->n_places) = (struct place){plumb_copied(function), 0};
	return i;
}

/* Where ROW's threads slept, if there is something to hold there; false: there is not. */
static bool find_place(struct heads *h, const struct plumb_report *r, const struct plumb_row *row,
		       size_t *place)
{
	static struct plumb_frames f; /* large */
	const char *function = "[unknown]";
	bool is_lock;

	name(r, row, &f);
	is_lock = key_of(row)->lock || f.in_rwlock;
	for (size_t i = f.n_kernel; i-- > 0;) {
		is_lock |= is_any(f.text[i], locks);
		if (!is_any(f.text[i], sleeping))
			function = f.text[i];
	}
	if (is_lock)
		*place = number_of(h, function);
	plumb_frames_free(&f);
	return is_lock;
}

static int by_place(const void *a, const void *b)
{
	const struct offcpu_key *p = key_of(*(const struct plumb_row *const *)a);
	const struct offcpu_key *q = key_of(*(const struct plumb_row *const *)b);

	if (p->stack.kernel != q->stack.kernel)
		return p->stack.kernel < q->stack.kernel ? -1 : 1;
	if (p->stack.user != q->stack.user)
		return p->stack.user < q->stack.user ? -1 : 1;
	return (p->lock > q->lock) - (p->lock < q->lock);
}

/* Rows of sleeps of which it is known whose they were, those of the same stacks together. */
static const struct plumb_row **sleeps_of(const struct plumb_snapshot *snap, size_t *n)
{
	const struct plumb_row **rows = NULL;

	*n = 0;
	for (size_t i = 0; i < snap->n; i++)
		if (snap->rows[i].slot && key_of(&snap->rows[i])->tid)
			*plumb_append(rows, *n) = &snap->rows[i];
	if (*n)
		qsort(rows, *n, sizeof(*rows), by_place);
	return rows;
}

static const struct heads *sorted;

static int by_time(const void *a, const void *b)
{
	const uint64_t p = sorted->places[((const struct plumb_head *)a)->what].ns;
	const uint64_t q = sorted->places[((const struct plumb_head *)b)->what].ns;

	return (p < q) - (p > q);
}

static struct heads find(const struct plumb_report *r)
{
	struct plumb_ended_wait *waits = NULL;
	struct heads h = {};
	size_t n_rows, n_waits = 0, i, j, place = 0, n = 0;
	const struct plumb_row **rows = sleeps_of(r->snap, &n_rows);
	uint64_t all = 0;

	for (i = 0; i < r->snap->n; i++)
		all += r->snap->rows[i].sum;
	for (i = 0; i < n_rows; i = j) {
		const bool is_lock = find_place(&h, r, rows[i], &place);

		for (j = i; j < n_rows && !by_place(&rows[i], &rows[j]); j++) {
			const struct offcpu_key *key = key_of(rows[j]);
			const bool is_thread = key->waker.kind == PLUMB_WAKER_THREAD;

			if (!is_lock)
				continue;
			h.places[place].ns += rows[j]->sum;
			*plumb_append(waits, n_waits) = (struct plumb_ended_wait){
				.what = place,
				.waiter = key->tid,
				.waker = is_thread ? key->waker.tid : 0,
				.ns = rows[j]->sum,
				.n = rows[j]->count,
				.by = rows[j],
			};
		}
	}
	h.all = plumb_heads_of(waits, n_waits, &h.n);
	for (i = 0; i < h.n; i++)
		if (h.places[h.all[i].what].ns >= all / SMALL)
			h.all[n++] = h.all[i];
	h.n = n;
	sorted = &h;
	if (n)
		qsort(h.all, n, sizeof(*h.all), by_time);
	free(waits);
	free(rows);
	return h;
}

static void heads_free(struct heads *h)
{
	for (size_t i = 0; i < h->n_places; i++)
		free(h->places[i].function);
	free(h->places);
	free(h->all);
}

/* Allocated: the function with which it was started; "": not known. */
static char *start_of(const struct plumb_report *r, const struct plumb_head *h)
{
	static struct plumb_frames f; /* large */
	char *start = NULL;

	for (size_t i = 0; i < r->snap->n && !start; i++) {
		const struct plumb_row *row = &r->snap->rows[i];

		if (!row->slot || key_of(row)->tid != h->tid)
			continue;
		name(r, row, &f);
		if (plumb_frames_start(&f))
			start = plumb_copied(plumb_frames_start(&f));
		plumb_frames_free(&f);
	}
	return start ?: plumb_copied("");
}

static const struct plumb_waker *waker_of(const struct plumb_head *h)
{
	return &key_of(h->by)->waker;
}

void heads_print(const struct plumb_report *r, FILE *out)
{
	char comm[PLUMB_ESCAPED], thread[2 * PLUMB_ESCAPED], text[4 * PLUMB_ESCAPED], time[32];
	struct heads h = find(r);
	size_t n;

	for (size_t i = 0; i < h.n; i++) {
		const struct place *place = &h.places[h.all[i].what];
		char *start = start_of(r, &h.all[i]);

		plumb_escape(comm, waker_of(&h.all[i])->comm, sizeof(comm));
		n = snprintf(thread, sizeof(thread), "%s/%u", comm, h.all[i].tid);
		plumb_start_text(start, comm, thread + n, sizeof(thread) - n);
		n = snprintf(text, sizeof(text), "%s in %.64s: ",
			     plumb_format_time(place->ns, PLUMB_AUTO, time, sizeof(time)),
			     place->function);
		plumb_head_text(&h.all[i], thread, "held it", text + n, sizeof(text) - n);
		plumb_print_wrapped(text, out);
		free(start);
	}
	heads_free(&h);
}

void heads_json(json_t *json, const struct plumb_report *r)
{
	json_t *all = json_array(), *by;
	struct heads h = find(r);

	for (size_t i = 0; i < h.n; i++) {
		const struct plumb_waker *w = waker_of(&h.all[i]);
		const struct place *place = &h.places[h.all[i].what];
		char *start = start_of(r, &h.all[i]);

		by = json_pack("{s:i, s:i, s:o, s:o}", "pid", w->pid, "tid", w->tid, "comm",
			       plumb_json_text(w->comm), "start",
			       *start ? plumb_json_text(start) : json_null());
		json_array_append_new(all, json_pack("{s:o, s:o, s:o, s:I, s:I}", "function",
						     plumb_json_text(place->function), "ns",
						     plumb_json_u64(place->ns), "held_by", by,
						     "passed_on", (json_int_t)h.all[i].passed,
						     "others", (json_int_t)h.all[i].more));
		free(start);
	}
	heads_free(&h);
	json_object_set_new(json, "heads", all);
}
