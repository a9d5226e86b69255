/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sched: when the current thread got its CPU, and since when it had waited for it, by the clock of
 * all other times (CLOCK_MONOTONIC).
 *
 * A program on sched_switch sees both threads of a switch, but only the thread that leaves is
 * current. Of the thread that comes, and of one that is woken, a raw tracepoint cheaply has only
 * the address of the task. So what is known of it is kept under that address, which is compared and
 * never dereferenced, and is used when the thread is current: at the exit of its call, or when it
 * leaves.
 *
 * The scheduler's own account (sched_info) is not used: a wakeup that preempts does not update the
 * clock of the run queue, and the wait of a remote wakeup begins only after the inter-processor
 * interrupt.
 *
 * A tool that needs the waker of a thread defines SCHED_WAKERS, and marks the threads by
 * sched_asleep(). One that tells a wait for an idle CPU to wake from one for a busy CPU defines
 * SCHED_IDLE. One that tells what happened while threads waited defines SCHED_MEANWHILE.
 *
 * Programs on sched_switch, sched_waking and sched_wakeup_new run with interrupts disabled: none
 * can be preempted, not by each other and not on 7.x.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/core/ledger.bpf.h>
#include <plumb/bpf/sched/sched-state.bpf.h>
#include <plumb/bpf/sched/waker.h>
#ifdef SCHED_WAKERS
#include <plumb/bpf/sched/waker.bpf.h>
#endif
#if defined(SCHED_WAKERS) || defined(SCHED_MEANWHILE)
#include <plumb/bpf/sched/turns.bpf.h>
#endif

/*
 * Threads that wait for a CPU. A wait is in one of the places that the address of its thread maps
 * to, from the wakeup or the preemption until the thread gets its CPU. Places are few, but so are
 * threads that wait at the same time. If more threads share places than there are, a wait is lost
 * and counted (no_state).
 */
#define SCHED_SET_BITS 13
#define SCHED_PLACES   4 /* in a cache line */

struct sched_wait {
	__u64 since; /* ns, CLOCK_MONOTONIC; 0: none */
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
 * TASK waits from NOW on. A wakeup of a thread that is running after all, because it checked its
 * condition once more before it slept, leaves a wait behind, which the thread's next wait replaces.
 * Return the number of the place; negative: none was free.
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

/* TASK no longer waits. Return the beginning of its wait, and its place; 0: not known. */
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
/* By place. */
struct sched_waker {
	__u64 since; /* of the wait that it began */
	struct plumb_waker waker;
};

PLUMB_MAP(plumb_wakers, ARRAY, SCHED_PLACES << SCHED_SET_BITS /* the loader: 1 if not needed */,
	  __u32, struct sched_waker);

/*
 * The number of sleeping threads whose waker is needed, by set. Wakeups of other threads of the set
 * are recorded too, but not used.
 */
static __u32 sched_sleepers[1 << SCHED_SET_BITS] = {};

/* The current thread goes to sleep (1), or has woken (-1). */
static __always_inline void sched_asleep(__u32 change)
{
	if (plumb_config.wakers)
		atomic_add(&sched_sleepers[sched_set(bpf_get_current_task())], change);
}
#endif

PLUMB_MAP(plumb_stays, ARRAY, 1 /* set by the loader: possible CPUs */, __u32, struct sched_stay);

/* The last one that began on this CPU. */
static __always_inline struct sched_stay *sched_stay(__u32 cpu)
{
	return bpf_map_lookup_elem(&plumb_stays, &cpu);
}

static __always_inline bool sched_is_of(const struct sched_stay *s, struct task_struct *task)
{
	return s->task == (__u64)task;
}

#ifdef SCHED_WAKERS
/* The waker that ended the sleep before this stay, for which the thread had waited in PLACE. */
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

/* At the end of a program on sched_switch: the next thread has the current thread's CPU now. */
static __always_inline void sched_switched(struct bpf_raw_tracepoint_args *ctx,
					   struct task_struct *task, __u32 cpu, __u64 now)
{
	struct sched_stay *s = bpf_map_lookup_elem(&plumb_stays, &cpu);
	__u32 place = 0;

	if (plumb_config.waits && sched_state(task) & TASK_DEAD)
		sched_wait_end(ctx->args[1], &place); /* for the verifier TASK is not a number */
	if (!s)
		return;
#ifdef SCHED_IDLE
	s->idle = !(__u32)bpf_get_current_pid_tgid() && s->task == ctx->args[1] ? s->began : 0;
#endif
	s->task = ctx->args[2];
	s->began = now;
	s->since = plumb_config.waits ? sched_wait_end(ctx->args[2], &place) : 0;
#ifdef SCHED_WAKERS
	sched_take_waker(s, place);
#endif
#if defined(SCHED_WAKERS) || defined(SCHED_MEANWHILE)
	if (plumb_config.wakers || plumb_config.meanwhile)
		sched_turn_ends(task, cpu, now);
#endif
}

/*
 * The stay of the current thread. While another tracer attaches to sched_switch or detaches from
 * it, the kernel may skip this program. Then the thread's stay began after the last one that was
 * recorded, and after its wakeup.
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
#ifdef SCHED_IDLE
	s->idle = 0;
#endif
#ifdef SCHED_WAKERS
	sched_take_waker(s, place);
#endif
	return s;
}

/*
 * How long the thread had waited for its CPU when the stay began, at most the OFF_CPU ns that it
 * had none.
 */
static __always_inline __u64 sched_waited(const struct sched_stay *s, __u64 off_cpu)
{
	__u64 waited = s->since ? s->began - s->since : 0;

	/*
	 * It was woken while it was still leaving, or by a CPU whose clock is ahead of this one's.
	 */
	if ((__s64)waited < 0)
		return 0;
	return waited < off_cpu ? waited : off_cpu;
}

#ifdef SCHED_IDLE
/* How long, of the WAITED ns before the stay, its CPU was idle. */
static __always_inline __u64 sched_waited_idle(const struct sched_stay *s, __u64 waited)
{
	__u64 idle = s->idle ? s->began - s->idle : 0;

	return waited < idle ? waited : idle;
}
#endif

/*
 * sched_waking, not sched_wakeup: a thread is woken when the waker's call says so. Until it is in a
 * run queue, which sched_wakeup reports, it may have to wait for an inter-processor interrupt.
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
/*
 * Instead of the program above if plumb_config.preempt_count is set; otherwise the kernel may
 * refuse to load it.
 */
SEC("raw_tp/sched_waking")
int thread_woken_by_count(struct bpf_raw_tracepoint_args *ctx)
{
	return sched_woken(ctx, true);
}
#endif

/* A new thread has no other wakeup. */
SEC("raw_tp/sched_wakeup_new")
int thread_woken_new(struct bpf_raw_tracepoint_args *ctx)
{
	sched_wait_begin(ctx->args[0], bpf_ktime_get_ns());
	return 0;
}
