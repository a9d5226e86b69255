/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/core/text.h>
#include <plumb/kernel/map.h>
#include <plumb/split/waker.h>
#include <plumb/stacks/stacks.h>

#include <bpf/libbpf.h>

#include "futex-latency.h"
#include "words.h"

static const struct bpf_object *live;

void rows_use(const struct bpf_object *object)
{
	live = object;
}

/* --- keys --- */

static const char *const kinds[FUTEX_KINDS] = {
	[FUTEX_LOCK] = "lock",
	[FUTEX_RWLOCK] = "rwlock",
	[FUTEX_PI_LOCK] = "pi-lock",
	[FUTEX_CONDITION] = "condition",
	[FUTEX_PI_CONDITION] = "pi-condition",
	[FUTEX_OTHER] = "other",
	[FUTEX_SEVERAL] = "several",
};
static const char *const results[FUTEX_RESULTS] = {
	[FUTEX_WOKEN] = "woken",     [FUTEX_TIMEOUT] = "timeout", [FUTEX_SIGNAL] = "signal",
	[FUTEX_CHANGED] = "changed", [FUTEX_FAILED] = "failed",
};

void rows_unify(void *key)
{
	struct futex_row *row = key;

	row->word = *words_first(&row->word);
}

static void format_word(const void *key, char *text, size_t size)
{
	words_name(&((const struct futex_row *)key)->word, 0, text, size);
}

/* "holder/4711"; "[interrupt]", as of a timeout, on top of whatever thread; "-". */
static const char *waker_text(const struct plumb_waker *w, char *text, size_t size)
{
	char comm[PLUMB_ESCAPED];

	plumb_escape(comm, w->comm, sizeof(comm));
	if (w->kind == PLUMB_WAKER_THREAD)
		snprintf(text, size, "%s/%u", comm, w->tid);
	else
		snprintf(text, size, w->kind ? "[interrupt]" : "-");
	return text;
}

static void format_waker(const void *key, char *text, size_t size)
{
	waker_text(&((const struct futex_row *)key)->waker, text, size);
}

/* A folded stack: the user's functions, the outermost first; "-": there are none. */
static char *folded(int32_t user, uint32_t tgid)
{
	struct plumb_stack_key key = {.kernel = PLUMB_NO_STACK, .user = user, .tgid = tgid};
	struct plumb_frames frames = {};
	char *text = NULL, *outer;

	if (user != PLUMB_NO_STACK)
		plumb_frames_name(&frames, live, &key);
	for (size_t i = frames.n_kernel; i < frames.n; i++) {
		outer = text ? plumb_text("%s;%s", frames.text[i], text)
			     : plumb_copied(frames.text[i]);
		free(text);
		text = outer;
	}
	plumb_frames_free(&frames);
	return text ?: plumb_copied("-");
}

static char *waiter_stack(const void *key)
{
	const struct futex_row *row = key;

	return folded(row->user, row->tgid);
}

/* Of no waker all is 0, also the number of the stack. */
static char *waker_stack(const void *key)
{
	const struct plumb_waker *w = &((const struct futex_row *)key)->waker;

	return folded(plumb_waker_has_stack(w) ? w->user : PLUMB_NO_STACK, w->pid);
}

/* The end of it, which is what matters; JSON has all. */
static void print_stack(char *stack, char *text, size_t size)
{
	const size_t n = strlen(stack);

	snprintf(text, size, "%s", n < size ? stack : stack + n - (size - 1));
	free(stack);
}

static json_t *json_of_stack(char *stack)
{
	json_t *json = json_string(stack);

	free(stack);
	return json;
}

static void format_stack(const void *key, char *text, size_t size)
{
	print_stack(waiter_stack(key), text, size);
}

static json_t *json_stack(const void *key)
{
	return json_of_stack(waiter_stack(key));
}

static void format_waker_stack(const void *key, char *text, size_t size)
{
	print_stack(waker_stack(key), text, size);
}

static json_t *json_waker_stack(const void *key)
{
	return json_of_stack(waker_stack(key));
}

const struct plumb_field futex_fields[FUTEX_N_FIELDS] = {
	{"word", FUTEX_BY_WORD, .format = format_word},
	{PLUMB_NAMED_FIELD("kind", FUTEX_BY_KIND, PLUMB_NAME, futex_row, kind, kinds)},
	{PLUMB_NAMED_FIELD("result", FUTEX_BY_RESULT, PLUMB_NAME, futex_row, result, results)},
	{"stack", FUTEX_BY_STACK, .format = format_stack, .json = json_stack},
	{"waker", FUTEX_BY_WAKER, .format = format_waker},
	{"waker-stack", FUTEX_BY_WAKER_STACK, .format = format_waker_stack,
	 .json = json_waker_stack},
};

/* --- columns --- */

static double waiting_of(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	const double contended = row->counters[FUTEX_CONTENDED];

	(void)id, (void)r;
	return contended ? row->sum / contended : NAN;
}

/* Whether all waits for a word are seen, but those of other processes: no thread is left out. */
static bool sees_all(const struct plumb_report *r)
{
	const struct plumb_options *o = &r->run->options;

	return !o->n_tids && !o->n_comms_typed && !o->n_cgroups;
}

/* Whether rows are by kind, that of ROW is one of locks, and all wakeups of it are seen. */
static bool is_lock(const struct plumb_report *r, const struct plumb_row *row)
{
	return row->slot && r->run->options.by & FUTEX_BY_KIND && sees_all(r) &&
	       futex_is_lock(((const struct futex_row *)row->key)->kind);
}

/* How long the lock was held for each wakeup: by one thread, or by several that did not wait. */
static double per_wakeup_of(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	const uint64_t *n = row->counters;

	(void)id;
	if (!is_lock(r, row) || !n[FUTEX_N_WOKEN] || !n[FUTEX_CONTENDED])
		return NAN;
	return (double)n[FUTEX_CONTENDED] / n[FUTEX_N_WOKEN];
}

static struct futex_longest longest_of(const struct plumb_report *r, const struct plumb_row *row)
{
	const struct plumb_instance *in = &r->run->instance;
	int map = bpf_object__find_map_fd_by_name(in->bpf.object, "futex_longest");
	struct futex_longest longest = {}, one;
	uint64_t most = 0;

	for (uint32_t slot = row->slot, cpu; slot; slot = plumb_snapshot_joined(r->total, slot))
		for (cpu = 0; cpu < in->bpf.config->cpus; cpu++) {
			uint32_t at = cpu * in->bpf.config->slots + slot;

			if (plumb_map_lookup(map, &at, &one))
				continue;
			if (one.most > most)
				most = one.most;
			if (one.ns > longest.ns)
				longest = one;
		}
	longest.most = most;
	return longest;
}

static double most_of(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	(void)id;
	return longest_of(r, row).most ?: NAN;
}

static double longest_to_wakeup_of(int id, const struct plumb_report *r,
				   const struct plumb_row *row)
{
	(void)id;
	return is_lock(r, row) ? (longest_of(r, row).ns ?: NAN) : NAN;
}

static const char *longest_waker_of(int id, const struct plumb_report *r,
				    const struct plumb_row *row)
{
	static char text[PLUMB_ESCAPED + 64];
	struct futex_longest longest = {};

	(void)id;
	if (row->slot && r->run->options.by & FUTEX_BY_KIND && sees_all(r))
		longest = longest_of(r, row);
	return longest.ns ? waker_text(&longest.waker, text, sizeof(text)) : NULL;
}

/* A word that was not followed has no such time. */
static double contended_of(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	(void)id, (void)r;
	return row->counters[FUTEX_CONTENDED] || !row->counters[FUTEX_N_WOKEN]
		       ? (double)row->counters[FUTEX_CONTENDED]
		       : NAN;
}

static double after_of(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	(void)r;
	return row->counters[id];
}

/* A table that is too narrow lacks the last ones. */
const struct plumb_column futex_columns[] = {
	{"max_to_wakeup", PLUMB_COLUMN_TIME,
	 "The longest time up to a wakeup of a waiter of a lock, since the beginning of the trace, "
	 "ns, from the wakeup before it, the first waiter, or the end of the waking thread's own "
	 "wait for the lock, whichever was last: at most so long one thread held it while others "
	 "waited, unless all of them gave up meanwhile; others may have held it before in that "
	 "time, without a wait. Null: as per_wakeup.",
	 .value = longest_to_wakeup_of},
	{"woken_by", PLUMB_COLUMN_TEXT,
	 "Since the beginning of the trace, of a lock the thread whose wakeup ended that time: the "
	 "last one that held the lock in it; of others the thread that ended the longest wait, "
	 "NAME/TID. Null: there was none, rows are not by kind, or threads are left out by a "
	 "filter.",
	 .text = longest_waker_of},
	{"contended", PLUMB_COLUMN_TIME,
	 "The time in which at least one thread waited, ns. Null: the word was not followed.",
	 .id = FUTEX_CONTENDED, .value = contended_of},
	{"per_wakeup", PLUMB_COLUMN_TIME,
	 "Contended time of a lock for each wait that a wakeup ended, ns: more than a thread held "
	 "the lock on average if others took it without a wait meanwhile, which the kernel does "
	 "not see. Null: it is no lock, rows are not by kind, or threads are left out by a "
	 "filter.",
	 .value = per_wakeup_of},
	{"most", PLUMB_COLUMN_COUNT,
	 "The most threads that waited for one word at once, since the beginning of the trace, as "
	 "far as their waits have ended. Null: the word was not followed.",
	 .value = most_of},
	{"waiting", PLUMB_COLUMN_RATIO,
	 "How many threads waited at once, on average over the time in which any did. Null: no "
	 "such time has been accounted for.",
	 .value = waiting_of},
	{"after_wakeup", PLUMB_COLUMN_TIME,
	 "The part of the waits after the wakeup, mostly for a CPU, ns.", .id = FUTEX_AFTER_WAKEUP,
	 .value = after_of},
	{},
};
