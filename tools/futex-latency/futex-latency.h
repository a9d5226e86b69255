/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of futex-latency. */
#pragma once

#include <plumb/bpf/key/key.h>
#include <plumb/bpf/sched/waker.h>

#define FUTEX_BY_WORD        (PLUMB_BY_TOOL << 0)
#define FUTEX_BY_KIND        (PLUMB_BY_TOOL << 1)
#define FUTEX_BY_RESULT      (PLUMB_BY_TOOL << 2)
#define FUTEX_BY_STACK       (PLUMB_BY_TOOL << 3)
#define FUTEX_BY_WAKER       (PLUMB_BY_TOOL << 4)
#define FUTEX_BY_WAKER_STACK (PLUMB_BY_TOOL << 5)

/* System calls that may wait, as in futex_calls. */
enum futex_call { FUTEX_CALL, FUTEX_CALL_WAIT, FUTEX_CALL_WAITV, FUTEX_CALLS };

/* What waits, as far as the operation and the value that it expects tell. */
enum futex_kind {
	FUTEX_LOCK,
	FUTEX_RWLOCK,
	FUTEX_PI_LOCK,
	FUTEX_CONDITION,
	FUTEX_PI_CONDITION,
	FUTEX_OTHER,
	FUTEX_SEVERAL,
	FUTEX_KINDS
};

static inline int futex_is_lock(__u32 kind)
{
	return kind == FUTEX_LOCK || kind == FUTEX_PI_LOCK;
}

/* How a wait ended. */
enum futex_result {
	FUTEX_WOKEN,
	FUTEX_TIMEOUT,
	FUTEX_SIGNAL,
	FUTEX_CHANGED, /* the word had another value: the call did not wait */
	FUTEX_FAILED,
	FUTEX_RESULTS
};

/* Words are those of an address space, which is told by its address. */
struct futex_word_key {
	__u64 address, space;
};

struct futex_row {
	struct plumb_who who;
	struct futex_word_key word;
	__u32 kind, result;
	__s32 user; /* the waiter's stack, of process TGID */
	__u32 tgid;
	struct plumb_waker waker;
};
_Static_assert(sizeof(struct futex_row) == 128, "no hidden padding in a hash key");

/* A word for which threads wait. */
struct futex_word {
	struct futex_word_key key;
	/*
	 * How many, in the lower 16 bits; above, in 48 bits of ns, up to when their time is
	 * accounted for.
	 */
	__u64 state;
	__u64 released; /* ns, CLOCK_MONOTONIC: when a waiter was last woken, or the first came */
	__u64 told;     /* to the loader */
};

#define FUTEX_WAITING     0xffffULL
#define FUTEX_SINCE_SHIFT 16
#define FUTEX_GONE        (~0ULL) /* a state: it is about to be deleted */
#define FUTEX_WORDS       16384

/* A record for the loader: a word that has to be named while its process lives. */
struct futex_seen {
	struct futex_word_key word;
	__u32 pid;
	__u32 pad;
};

/* In plumb_totals.counters. */
enum { FUTEX_CONTENDED, FUTEX_N_WOKEN, FUTEX_AFTER_WAKEUP };

/*
 * Of a slot on a CPU: the longest time up to a wakeup of a waiter of a lock, and whose that was; of
 * other kinds, the longest wait, and who ended it.  And how many waited for a word at once.
 */
struct futex_longest {
	__u64 ns;
	__u64 most;
	struct plumb_waker waker;
};
