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

/* Where threads sleep until another one releases something. */
static const char *const locks[] = {"rwsem_down_*",      "__mutex_lock*",       "mutex_lock*",
				    "__rt_mutex_*",      "rt_mutex_*",          "__down_*",
				    "percpu_rwsem_*",    "futex_lock_pi",       "flock_lock_inode*",
				    "posix_lock_inode*", "lock_mm_and_find_vma"};
/* They are about all such sleeps. */
static const char *const sleeping[] = {"__schedule", "schedule*", "preempt_schedule*"};

static bool is_any(const char *name, const char *const *patterns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!fnmatch(patterns[i], name, 0))
			return true;
	return false;
}

static void name(const struct plumb_report *r, const struct plumb_row *row, struct plumb_frames *f)
{
	const struct offcpu_key *key = row->key;

	f->n = f->n_kernel = 0;
	plumb_frames_name(f, r->run->instance.bpf.object, &key->stack);
}

/* Whether there is something to hold where ROW's threads slept. */
static bool is_lock(const struct plumb_report *r, const struct plumb_row *row)
{
	static struct plumb_frames f; /* large */
	const struct offcpu_key *key = row->key;
	bool is = key->lock;

	if (is || !key->tid)
		return is;
	name(r, row, &f);
	for (size_t i = 0; i < f.n_kernel && !is; i++)
		is = is_any(f.text[i], locks, sizeof(locks) / sizeof(*locks));
	plumb_frames_free(&f);
	return is;
}

/* Allocated: *N of them. */
static struct plumb_head *find(const struct plumb_report *r, size_t *n)
{
	const struct plumb_snapshot *snap = r->snap;
	struct plumb_ended_wait *waits = NULL;
	struct plumb_head *heads;
	size_t n_waits = 0;

	for (size_t i = 0; i < snap->n; i++) {
		const struct plumb_row *row = &snap->rows[i];
		const struct offcpu_key *key = row->key;

		if (!row->slot || !key->tid || !is_lock(r, row))
			continue;
		*plumb_append(waits, n_waits) = (struct plumb_ended_wait){
			.what = (uint32_t)key->stack.kernel,
			.waiter = key->tid,
			.waker = key->waker.kind == PLUMB_WAKER_THREAD ? key->waker.tid : 0,
			.ns = row->sum,
			.by = row,
		};
	}
	heads = plumb_heads_of(waits, n_waits, n);
	free(waits);
	return heads;
}

/* Allocated: the function in which threads waited for it. */
static char *place_of(const struct plumb_report *r, const struct plumb_head *h)
{
	static struct plumb_frames f; /* large */
	const char *place = "[unknown]";
	char *copy;

	name(r, h->by, &f);
	for (size_t i = f.n_kernel; i-- > 0;)
		if (!is_any(f.text[i], sleeping, sizeof(sleeping) / sizeof(*sleeping)))
			place = f.text[i];
	copy = plumb_copied(place);
	plumb_frames_free(&f);
	return copy;
}

/* Allocated: the function with which it was started; "": not known. */
static char *start_of(const struct plumb_report *r, const struct plumb_head *h)
{
	static struct plumb_frames f; /* large */
	char *start = NULL;

	for (size_t i = 0; i < r->snap->n && !start; i++) {
		const struct plumb_row *row = &r->snap->rows[i];
		const struct offcpu_key *key = row->key;

		if (!row->slot || key->tid != h->tid)
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
	const struct plumb_row *row = h->by;

	return &((const struct offcpu_key *)row->key)->waker;
}

void heads_print(const struct plumb_report *r, FILE *out)
{
	char comm[PLUMB_ESCAPED], thread[2 * PLUMB_ESCAPED], text[3 * PLUMB_ESCAPED];
	size_t n, n_thread;
	struct plumb_head *heads = find(r, &n);

	for (size_t i = 0; i < n; i++) {
		char *place = place_of(r, &heads[i]), *start = start_of(r, &heads[i]);

		plumb_escape(comm, waker_of(&heads[i])->comm, sizeof(comm));
		n_thread = snprintf(thread, sizeof(thread), "%s/%u", comm, heads[i].tid);
		plumb_start_text(start, comm, thread + n_thread, sizeof(thread) - n_thread);
		snprintf(text, sizeof(text), "%s: ", place);
		plumb_head_text(&heads[i], thread, "held it", text + strlen(text),
				sizeof(text) - strlen(text));
		plumb_print_wrapped(text, out);
		free(place);
		free(start);
	}
	free(heads);
}

void heads_json(json_t *json, const struct plumb_report *r)
{
	json_t *all = json_array(), *by;
	size_t n;
	struct plumb_head *heads = find(r, &n);

	for (size_t i = 0; i < n; i++) {
		char *place = place_of(r, &heads[i]), *start = start_of(r, &heads[i]);
		const struct plumb_waker *w = waker_of(&heads[i]);

		by = json_pack("{s:i, s:i, s:o, s:o}", "pid", w->pid, "tid", w->tid, "comm",
			       plumb_json_text(w->comm), "start",
			       *start ? plumb_json_text(start) : json_null());
		json_array_append_new(all, json_pack("{s:o, s:o, s:I, s:I}", "function",
						     plumb_json_text(place), "held_by", by,
						     "passed_on", (json_int_t)heads[i].passed,
						     "others", (json_int_t)heads[i].more));
		free(place);
		free(start);
	}
	free(heads);
	json_object_set_new(json, "heads", all);
}
