/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * in-flight slots: the state of a thread that is inside at most one call, a system call: which call
 * it is, and the slots of the thread's last keys.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/sched/return.h>
#include <plumb/bpf/sched/split.h>

/* Slots that a thread caches. A thread that polls, reads and writes in turn always hits. */
#define PLUMB_CACHED_SLOTS 8

/*
 * When a thread was last seen, by programs that run only now and then: ns, CLOCK_MONOTONIC.  0:
 * never, or not known.
 */
struct plumb_tail {
	__u64 seen;    /* while it has no CPU: when it left it */
	__u64 outside; /* last outside of the system call in which it was last seen */
	__u32 mark;    /* user_mode_mark() then */
	__u32 left;    /* it has no CPU */
};

struct plumb_cached_slot {
	__u64 var; /* the part of the key that changes from call to call */
	__u32 slot;
	__u32 valid;
};

struct call_thread {
	__u64 start; /* ns, CLOCK_MONOTONIC; 0: in no call, or the call is in an in-flight slot */
	__u64 call;  /* the call, in the tool's own encoding */
	__u64 inflight_slot;     /* 1 + the in-flight slot that the thread took last; 0: none */
	__u64 task;              /* the task, as in that slot: for the loader */
	struct plumb_return ret; /* its last call, if that is not in an in-flight slot */
	__u64 comm[2], process[2];
	__u64 cgroup;
	__u64 tid;       /* of the cached slots: execve can change it */
	__u64 left;      /* ns, CLOCK_MONOTONIC: when it last left a CPU; 0: it has one */
	__u32 preempted; /* it was runnable when it left: 1, or SPLIT_THROTTLED */
	__u32 cpu;       /* that it left */
	__u64 off[PLUMB_RETURN_PARTS]; /* ns of this call off the CPU (split.bpf.h) */
#ifdef PLUMB_THREAD_OWN
	struct PLUMB_THREAD_OWN own; /* the tool's */
#endif
	struct plumb_cached_slot cached[PLUMB_CACHED_SLOTS];
	struct plumb_tail tail; /* without programs at calls (syscall-tail.bpf.h) */
};

#define PLUMB_THREAD struct call_thread
#include <plumb/bpf/core/inflight.bpf.h>

/*
 * In-flight slots: a call in flight is kept in one of these if one is free, so that its exit finds
 * it without identifying the thread. A CPU's slots are taken only on that CPU; a thread that has
 * moved to another CPU keeps its slot until its call ends.
 */
#define PLUMB_INFLIGHT_SLOT_BITS 6

struct plumb_inflight_slot {
	__u64 start; /* 0: free */
	__u64 regs;  /* identifies the thread as long as the epoch is the same */
	__u64 epoch;
	__u64 task; /* identifies the thread always */
	__u64 call;
	__u32 slot;
	__u32 left;  /* whether its thread left the CPU */
	__u64 ns;    /* of a call that has ended, */
	__u64 ended; /* ns, CLOCK_MONOTONIC: then; 0: none */
};
_Static_assert(sizeof(struct plumb_inflight_slot) == 64, "one cache line");

PLUMB_MAP(plumb_inflight_slots, ARRAY,
	  1 << PLUMB_INFLIGHT_SLOT_BITS /* the loader: for each possible CPU */, __u32,
	  struct plumb_inflight_slot);

/* Kernel stacks are at least 16 kB apart; the golden ratio spreads their addresses. */
static __always_inline __u32 inflight_slot_number(const struct pt_regs *regs, __u32 cpu)
{
	return cpu << PLUMB_INFLIGHT_SLOT_BITS |
	       ((__u64)regs >> 14) * 0x9e3779b97f4a7c15ULL >> (64 - PLUMB_INFLIGHT_SLOT_BITS);
}

/*
 * Return a free in-flight slot for the current thread, or NULL. It is taken once its start is set.
 */
static __always_inline struct plumb_inflight_slot *inflight_slot_take(struct call_thread *t,
								      struct task_struct *task,
								      const struct pt_regs *regs,
								      __u32 cpu)
{
	__u32 n = inflight_slot_number(regs, cpu);
	struct plumb_inflight_slot *s = bpf_map_lookup_elem(&plumb_inflight_slots, &n);

	if (!s || s->start)
		return NULL;
	s->regs = (__u64)regs;
	s->epoch = plumb_epoch;
	s->task = (__u64)task;
	t->inflight_slot = n + 1;
	t->task = (__u64)task;
	return s;
}

/*
 * Return the in-flight slot of the call that the thread with these registers is in, if that is
 * certain.
 */
static __always_inline struct plumb_inflight_slot *inflight_slot_of_name(const struct pt_regs *regs,
									 __u32 cpu)
{
	__u32 n = inflight_slot_number(regs, cpu);
	struct plumb_inflight_slot *s = bpf_map_lookup_elem(&plumb_inflight_slots, &n);

	return s && s->start && s->regs == (__u64)regs && s->epoch == plumb_epoch ? s : NULL;
}

/* Return the in-flight slot of the call that the current thread is in, or NULL. */
static __always_inline struct plumb_inflight_slot *inflight_slot_of(const struct call_thread *t,
								    struct task_struct *task)
{
	__u32 n = t->inflight_slot - 1;
	struct plumb_inflight_slot *s =
		t->inflight_slot ? bpf_map_lookup_elem(&plumb_inflight_slots, &n) : NULL;

	return s && s->start && s->task == (__u64)task ? s : NULL;
}

/*
 * End the calls that the thread is inside, wherever they are kept; return their number. T may be
 * NULL.
 */
static __always_inline __u32 inflight_clear(struct call_thread *t, struct task_struct *task)
{
	struct plumb_inflight_slot *s;
	__u32 was;

	if (!t)
		return 0;
	s = inflight_slot_of(t, task);
	was = t->start || s;

	t->start = 0;
	if (s)
		s->start = 0;
	return was;
}
