/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * words, BPF side: how many threads wait for each word, and since when.
 *
 * Threads begin and end their waits on any CPU.  A word's number of waiters and the time up to
 * which its contention is accounted for are one number, which is exchanged as a whole: each ns in
 * which the word has waiters is accounted for once, by the first waiter that leaves after it.
 */
#pragma once

#include "futex-latency.h"
#include <plumb/bpf/core/common.bpf.h>

#define WORD_ATTEMPTS 64

PLUMB_MAP(futex_words, HASH, FUTEX_WORDS, struct futex_word_key, struct futex_word);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 << 10);
} futex_seen SEC(".maps");

/* Waits whose word was not followed: there was no room, or too many CPUs changed it at once. */
__u64 futex_unfollowed = 0;

/* ---- words for which nobody waits any more: some leave when the map is nearly full ---- */

#define WORDS_ENOUGH (FUTEX_WORDS / 4 * 3)
#define SWEEP_WORDS  512          /* at once: 0.2 ms */
#define SWEEP_NS     100000000ULL /* between sweeps, if there are not as many */

static __u64 words_known = 0, words_in_use = 0;

static long word_sweep(struct bpf_map *map, const struct futex_word_key *key, struct futex_word *w,
		       __u32 *left)
{
	const __u64 was = *(volatile __u64 *)&w->state;

	/* A program that has found it already, or finds it until it is deleted, looks again. */
	if (was & FUTEX_WAITING || __sync_val_compare_and_swap(&w->state, was, FUTEX_GONE) != was)
		return 0;
	if (bpf_map_delete_elem(map, key)) { /* the map is busy */
		w->state = was;
		return 0;
	}
	atomic_add(&words_known, -1);
	return !--*left; /* 1: enough */
}

/* WORDS_IN_USE is the time when there were not SWEEP_WORDS. */
static __always_inline void words_sweep(__u64 now)
{
	__u32 left = SWEEP_WORDS;

	if ((__s64)(now - words_in_use) < (__s64)SWEEP_NS)
		return;
	bpf_for_each_map_elem(&futex_words, word_sweep, &left, 0);
	if (left)
		words_in_use = now;
}

static __always_inline struct futex_word *word_get(const struct futex_word_key *key, __u64 now)
{
	struct futex_word fresh = {.key = *key}, *w = bpf_map_lookup_elem(&futex_words, key);

	if (w)
		return w;
	if (words_known > WORDS_ENOUGH)
		words_sweep(now);
	/* Else it is full, or another CPU was first. */
	if (!bpf_map_update_elem(&futex_words, key, &fresh, BPF_NOEXIST))
		atomic_add(&words_known, 1);
	return bpf_map_lookup_elem(&futex_words, key);
}

/* ---- */

/* A word that can still have a row is named by the loader. */
static __always_inline void word_tell(struct futex_word *w, __u32 pid)
{
	struct futex_seen seen = {.word = w->key, .pid = pid};
	__u32 slot;

	if (!w->told && plumb_config.by & FUTEX_BY_WORD &&
	    !bpf_map_peek_elem(&plumb_free_slots, &slot))
		w->told = !bpf_ringbuf_output(&futex_seen, &seen, sizeof(seen), 0);
}

/*
 * A thread of process PID begins to wait.  Returns how many threads wait for the word, with it; 0:
 * it is not followed.
 */
static __noinline __u32 word_enter(const struct futex_word_key *key, __u32 pid, __u64 now)
{
	struct futex_word *w;
	__u64 was, to;
	__u32 i;

	for (i = 0; key && i < WORD_ATTEMPTS; i++) {
		w = word_get(key, now);
		if (!w)
			break;
		was = *(volatile __u64 *)&w->state;
		to = was & FUTEX_WAITING ? was + 1 : now << FUTEX_SINCE_SHIFT | 1;
		if (was == FUTEX_GONE || __sync_val_compare_and_swap(&w->state, was, to) != was)
			continue;
		/* Its memory may be that of another word since it was found. */
		if (w->key.address != key->address || w->key.space != key->space) {
			atomic_add(&w->state, -1);
			continue;
		}
		if (!(was & FUTEX_WAITING))
			w->released = now;
		word_tell(w, pid);
		return to & FUTEX_WAITING;
	}
	atomic_add(&futex_unfollowed, 1);
	return 0;
}

/*
 * A thread that has waited until NOW (0: it did not wait after all) is done.  The ns in which the
 * word had waiters and which nobody has accounted for.
 */
static __noinline __u64 word_leave(const struct futex_word_key *key, __u64 now)
{
	struct futex_word *w = key ? bpf_map_lookup_elem(&futex_words, key) : NULL;
	__u64 was, since, until = now << FUTEX_SINCE_SHIFT;
	__s64 more;
	__u32 i;

	for (i = 0; w && i < WORD_ATTEMPTS; i++) {
		was = *(volatile __u64 *)&w->state;
		since = was & ~FUTEX_WAITING;
		more = until - since;
		/* Another waiter has left meanwhile. */
		if (!now || more < 0)
			more = 0;
		if (__sync_val_compare_and_swap(&w->state, was, was - 1 + more) == was)
			return (__u64)more >> FUTEX_SINCE_SHIFT;
	}
	atomic_add(&futex_unfollowed, 1);
	return 0;
}

/*
 * A waiter is woken NOW.  For how long the lock can have been held at most, while threads waited,
 * by the waker, which did not have it before SINCE: others may have had it first, without a wait.
 */
static __always_inline __u64 word_released(const struct futex_word_key *key, __u64 since, __u64 now)
{
	struct futex_word *w = bpf_map_lookup_elem(&futex_words, key);

	if (!w)
		return 0;
	if (w->released > since)
		since = w->released;
	if (since >= now)
		return 0;
	w->released = now;
	return now - since;
}
