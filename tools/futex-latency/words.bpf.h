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

static __always_inline struct futex_word *word_get(const struct futex_word_key *key)
{
	static const struct futex_word fresh;
	struct futex_word *w = bpf_map_lookup_elem(&futex_words, key);

	if (w)
		return w;
	/* It is full, or another CPU was first. */
	bpf_map_update_elem(&futex_words, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&futex_words, key);
}

static __always_inline void word_tell(const struct futex_word_key *key, struct futex_word *w,
				      __u32 pid)
{
	struct futex_seen seen = {.word = *key, .pid = pid};

	if (!w->told)
		w->told = !bpf_ringbuf_output(&futex_seen, &seen, sizeof(seen), 0);
}

static __always_inline void word_had(struct futex_word *w, __u32 waiting)
{
	__u32 most, i;

	for (i = 0; i < WORD_ATTEMPTS; i++) {
		most = *(volatile __u32 *)&w->most;
		if (most >= waiting || __sync_val_compare_and_swap(&w->most, most, waiting) == most)
			return;
	}
}

/* A thread of process PID begins to wait; false: its word is not followed. */
static __noinline bool word_enter(const struct futex_word_key *key, __u32 pid, __u64 now)
{
	struct futex_word *w = key ? word_get(key) : NULL;
	__u64 was, to;
	__u32 i;

	for (i = 0; w && i < WORD_ATTEMPTS; i++) {
		was = *(volatile __u64 *)&w->state;
		to = was & FUTEX_WAITING ? was + 1 : now << FUTEX_SINCE_SHIFT | 1;
		if (__sync_val_compare_and_swap(&w->state, was, to) != was)
			continue;
		if (!(was & FUTEX_WAITING))
			w->released = now;
		word_had(w, to & FUTEX_WAITING);
		word_tell(key, w, pid);
		return true;
	}
	atomic_add(&futex_unfollowed, 1);
	return false;
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

/* A waiter is woken NOW.  Of a lock, for how long it was held while threads waited. */
static __always_inline __u64 word_released(const struct futex_word_key *key, __u64 now)
{
	struct futex_word *w = bpf_map_lookup_elem(&futex_words, key);
	__u64 held = w ? now - w->released : 0;

	if (!w || (__s64)held < 0)
		return 0;
	w->released = now;
	return held;
}
