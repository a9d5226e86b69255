/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sched: when the current thread got its CPU, and since when it had waited for it, by the
 * clock that times all else (CLOCK_MONOTONIC).
 *
 * A program on sched_switch sees both threads of a switch, but only the one that leaves is
 * the current one: of the one that comes, and of one that is woken, a raw tracepoint has
 * the address of the task and no more that is cheap.  So what is known of them is kept
 * under that address, which is compared and never followed, and is made use of when the
 * thread is the current one: in its call's end, or as it leaves.
 *
 * The scheduler's own account (sched_info) is not used: a wakeup that preempts does not
 * bring the run queue's clock up to date, and a remote one begins only behind the
 * inter-processor interrupt.
 *
 * A tool that also wants to know who woke a thread defines SCHED_WAKERS, and says of which
 * threads by sched_asleep().
 *
 * Programs on sched_switch, sched_waking and sched_wakeup_new run with interrupts off:
 * none is preempted, not by another of them, and not on 7.x.
 */
#ifndef PLUMB_SCHED_BPF_H
#define PLUMB_SCHED_BPF_H

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/core/ledger.bpf.h>
#ifdef SCHED_WAKERS
#include <plumb/bpf/sched/waker.bpf.h>
#endif

/* include/linux/sched.h */
#define TASK_RUNNING         0x0000
#define TASK_INTERRUPTIBLE   0x0001
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_DEAD            0x0080
#define TASK_WAKING          0x0200 /* on another CPU, while it still leaves this one */
#define TASK_NOLOAD          0x0400 /* a kernel thread that has nothing to do */

/* 5.14 renamed the field, since readers of it must expect others to write it. */
struct task_struct___old {
	volatile long state;
} __attribute__((preserve_access_index));

static __always_inline long sched_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return current_read(task, __state);
	return BPF_CORE_READ((struct task_struct___old *)task, state);
}

/*
 * Threads that wait for a CPU.  A wait is in one of the places that its thread's address
 * leads to, from the wakeup or the preemption on until the thread gets its CPU.  Places
 * are few, but so are threads that wait at one time: where more of them share their places
 * than there are, the wait is lost, and counted (no_state).
 */
#define SCHED_SET_BITS 13
#define SCHED_PLACES   4 /* in a cache line */

struct sched_wait {
	__u64 since; /* ns, CLOCK_MONOTONIC; 0: over */
	__u64 task;
};

static struct sched_wait sched_waits[SCHED_PLACES << SCHED_SET_BITS]
	__attribute__((aligned(64))) = {};

/* Tasks are aligned to 64 bytes; the golden ratio spreads them (Knuth, vol. 3, 6.4). */
static __always_inline __u32 sched_set(__u64 task)
{
	__u64 set = (task >> 6) * 0x9e3779b97f4a7c15ULL >> (64 - SCHED_SET_BITS);

	barrier_var(set); /* the mask is for the verifier of 5.10 */
	return set & ((1 << SCHED_SET_BITS) - 1);
}

/*
 * TASK waits from NOW on.  A wakeup of a thread that is running after all, since it looked
 * once more before it slept, leaves a wait behind, which the thread's next one replaces.
 * The number of its place; negative: there was none.
 */
static __always_inline int sched_wait_begin(__u64 task, __u64 now)
{
	__u32 first = sched_set(task) * SCHED_PLACES;
	struct sched_wait *places = &sched_waits[first];
	int i, free = -1;

	for (i = 0; i < SCHED_PLACES; i++) {
		if (places[i].task == task) {
			places[i].since = now;
			return first + i;
		}
		if (free < 0 && !places[i].since)
			free = i;
	}
	if (free < 0) {
		ledger_count(bpf_get_smp_processor_id(), no_state);
		return -1;
	}
	free &= SCHED_PLACES - 1; /* for the verifier */
	places[free].since = now;
	places[free].task = task;
	return first + free;
}

/* TASK waits no more.  Since when it did, and in which place; 0: not known. */
static __always_inline __u64 sched_wait_end(__u64 task, __u32 *place)
{
	__u32 first = sched_set(task) * SCHED_PLACES;
	struct sched_wait *places = &sched_waits[first];
	__u64 since;
	int i;

	for (i = 0; i < SCHED_PLACES; i++)
		if (places[i].task == task) {
			since = places[i].since;
			places[i].since = 0;
			*place = first + i;
			return since;
		}
	return 0;
}

#ifdef SCHED_WAKERS
/* Of each place. */
struct sched_waker {
	__u64 since; /* of the wait that it began */
	struct plumb_waker waker;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SCHED_PLACES << SCHED_SET_BITS); /* the loader: 1 if not wanted */
	__type(key, __u32);
	__type(value, struct sched_waker);
} plumb_wakers SEC(".maps");

/*
 * How many threads sleep of which it is to be known who wakes them, by the set that they
 * share with others: of these it is noted in vain.
 */
static __u32 sched_sleepers[1 << SCHED_SET_BITS] = {};

/* The current thread goes to sleep (1), or sleeps no more (-1). */
static __always_inline void sched_asleep(__u32 change)
{
	if (plumb_config.wakers)
		__sync_fetch_and_add(&sched_sleepers[sched_set(bpf_get_current_task())], change);
}
#endif

/* The stay on a CPU of the thread that has it. */
struct sched_stay {
	__u64 task;
	__u64 began; /* ns, CLOCK_MONOTONIC */
	__u64 since; /* it had waited; 0: not known */
#ifdef SCHED_WAKERS
	struct plumb_waker waker;
#else
	__u64 pad[5];
#endif
};
_Static_assert(sizeof(struct sched_stay) == 64, "one cache line a CPU");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader: possible CPUs */
	__type(key, __u32);
	__type(value, struct sched_stay);
} plumb_stays SEC(".maps");

/* The last that began on this CPU. */
static __always_inline struct sched_stay *sched_stay(__u32 cpu)
{
	return bpf_map_lookup_elem(&plumb_stays, &cpu);
}

static __always_inline bool sched_is_of(const struct sched_stay *s, struct task_struct *task)
{
	return s->task == (__u64)task;
}

#ifdef SCHED_WAKERS
/* Whose wakeup ended the sleep before this stay, for which the thread had waited in PLACE. */
static __always_inline void sched_take_waker(struct sched_stay *s, __u32 place)
{
	struct sched_waker *w;

	s->waker.kind = PLUMB_WAKER_UNKNOWN;
	if (!plumb_config.wakers || !s->since || !sched_sleepers[sched_set(s->task)])
		return;
	w = bpf_map_lookup_elem(&plumb_wakers, &place);
	if (w && w->since == s->since)
		s->waker = w->waker;
}

static __always_inline void sched_note_waker(void *ctx, __u64 woken, int place, __u64 now,
					     bool by_count)
{
	struct task_struct *task = current_task();
	__u32 key = place;
	struct sched_waker *w;

	if (!plumb_config.wakers || place < 0 || !sched_sleepers[sched_set(woken)])
		return;
	w = bpf_map_lookup_elem(&plumb_wakers, &key);
	if (!w)
		return;
	waker_current(&w->waker, ctx, task, bpf_get_smp_processor_id(), by_count);
	w->since = now;
}
#endif

/* At the end of a program on sched_switch: another has the current thread's CPU now. */
static __always_inline void sched_switched(struct bpf_raw_tracepoint_args *ctx,
					   struct task_struct *task, __u32 cpu, __u64 now)
{
	struct sched_stay *s = bpf_map_lookup_elem(&plumb_stays, &cpu);
	__u32 place = 0;

	if (plumb_config.waits && sched_state(task) & TASK_DEAD)
		sched_wait_end(ctx->args[1], &place); /* to the verifier TASK is no number */
	if (!s)
		return;
	s->task = ctx->args[2];
	s->began = now;
	s->since = plumb_config.waits ? sched_wait_end(ctx->args[2], &place) : 0;
#ifdef SCHED_WAKERS
	sched_take_waker(s, place);
#endif
}

/*
 * The stay of the current thread.  While another tracer attaches to sched_switch, or leaves it,
 * the kernel may forget to run a program there.  Then its stay began behind the last that was
 * seen, and behind its wakeup.
 */
static __always_inline struct sched_stay *sched_own_stay(struct task_struct *task, __u32 cpu)
{
	struct sched_stay *s = sched_stay(cpu);
	__u32 place = 0;

	if (!s || sched_is_of(s, task))
		return s;
	s->task = (__u64)bpf_get_current_task();
	s->since = plumb_config.waits ? sched_wait_end(s->task, &place) : 0;
	if ((__s64)(s->since - s->began) > 0)
		s->began = s->since;
#ifdef SCHED_WAKERS
	s->waker.kind = PLUMB_WAKER_UNKNOWN;
#endif
	return s;
}

/* As the stay began its thread had waited so long for its CPU, of OFF_CPU ns that it had none. */
static __always_inline __u64 sched_waited(const struct sched_stay *s, __u64 off_cpu)
{
	__u64 waited = s->since ? s->began - s->since : 0;

	/* It was woken while it still left, or by a CPU whose clock is ahead of this one's. */
	if ((__s64)waited < 0)
		return 0;
	return waited < off_cpu ? waited : off_cpu;
}

/*
 * sched_waking, and not sched_wakeup: a thread is woken when the other's wakeup call says
 * so.  Until it is in a run queue, which sched_wakeup reports, it can have to wait for an
 * interrupt of another CPU.
 */
static __always_inline int sched_woken(struct bpf_raw_tracepoint_args *ctx, bool by_count)
{
	__u64 now = bpf_ktime_get_ns();
	int place = sched_wait_begin(ctx->args[0], now);

#ifdef SCHED_WAKERS
	sched_note_waker(ctx, ctx->args[0], place, now, by_count);
#else
	(void)place, (void)by_count;
#endif
	return 0;
}

SEC("raw_tp/sched_waking")
int thread_woken(struct bpf_raw_tracepoint_args *ctx)
{
	return sched_woken(ctx, false);
}

#ifdef SCHED_WAKERS
/* In its place where plumb_config.preempt_count is set: else the kernel may refuse to load it. */
SEC("raw_tp/sched_waking")
int thread_woken_by_count(struct bpf_raw_tracepoint_args *ctx)
{
	return sched_woken(ctx, true);
}
#endif

/* A new thread is not woken but by this. */
SEC("raw_tp/sched_wakeup_new")
int thread_woken_new(struct bpf_raw_tracepoint_args *ctx)
{
	sched_wait_begin(ctx->args[0], bpf_ktime_get_ns());
	return 0;
}

#endif
