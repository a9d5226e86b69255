/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* thread: how long threads that read requests had no CPU, and why. */
#pragma once

#include <plumb/bpf/sched/irq-time.bpf.h>
#include "request-latency.h"

/* How it left its CPU. */
enum request_left { LEFT_ASLEEP, LEFT_PREEMPTED, LEFT_THROTTLED };

struct request_thread {
	__u64 left; /* the CPU, ns, CLOCK_MONOTONIC; 0: it has one */
	__u64 how;
	__u64 last_left, last_how; /* the same, when it was back last */
	__u64 away[AWAY_KINDS];
	__u64 asked;   /* it has sent something on a socket that is no server's */
	__u64 blocked; /* away[AWAY_BLOCKED] then */
	__u64 serves;  /* the socket of which it read a request last */
};

#define PLUMB_THREAD struct request_thread
#include <plumb/bpf/core/inflight.bpf.h>

static __always_inline __u32 inflight_clear(struct request_thread *t __attribute__((unused)),
					    struct task_struct *task __attribute__((unused)))
{
	return 0; /* requests are of sockets */
}

#include <plumb/bpf/core/exit.bpf.h>
#include <plumb/bpf/sched/sched.bpf.h>

/* The current thread has a CPU: add the time that it had none. */
static __always_inline void thread_is_back(struct request_thread *t, struct task_struct *task,
					   __u32 cpu)
{
	struct sched_stay *stay = t->left ? sched_own_stay(task, cpu) : NULL;
	__u64 off, waited;

	if (!stay)
		return;
	off = stay->began - t->left;
	waited = sched_waited(stay, off);
	t->last_left = t->left;
	t->last_how = t->how;
	t->left = 0;
	/* It left a CPU whose clock is ahead of this one's. */
	if ((__s64)off < 0)
		return;
	if (t->how != LEFT_ASLEEP) {
		t->away[t->how == LEFT_THROTTLED ? AWAY_QUOTA : AWAY_PREEMPTED] += off;
	} else {
		t->away[AWAY_BLOCKED] += off - waited;
		t->away[AWAY_RUNQ] += waited;
	}
}

SEC("raw_tp/sched_switch")
int thread_leaves(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 now = bpf_ktime_get_ns();
	struct request_thread *t = filter_thread(task) ? inflight_get(task) : NULL;

	if (t) {
		thread_is_back(t, task, cpu);
		t->left = now;
		t->how = !ctx->args[0] && sched_state(task) != TASK_RUNNING ? LEFT_ASLEEP
			 : sched_is_throttled(task)                         ? LEFT_THROTTLED
									    : LEFT_PREEMPTED;
	}
	sched_switched(ctx, task, cpu, now);
	return 0;
}

static __always_inline void irq_time_ended(struct irq_time *i __attribute__((unused)), __u64 ns)
{
	struct task_struct *task = current_task();
	struct request_thread *t = filter_thread(task) ? inflight_get(task) : NULL;

	if (t)
		t->away[AWAY_IRQ] += ns;
}

/* --- what it waits for on other sockets --- */

static __always_inline void thread_asks(struct task_struct *task)
{
	struct request_thread *t = filter_thread(task) ? inflight_get(task) : NULL;

	if (!t)
		return;
	thread_is_back(t, task, bpf_get_smp_processor_id());
	t->asked = 1;
	t->blocked = t->away[AWAY_BLOCKED];
}

static __always_inline void thread_is_answered(struct task_struct *task)
{
	struct request_thread *t = filter_thread(task) ? inflight_get(task) : NULL;

	if (!t || !t->asked)
		return;
	thread_is_back(t, task, bpf_get_smp_processor_id());
	t->away[AWAY_DOWNSTREAM] += t->away[AWAY_BLOCKED] - t->blocked;
	t->blocked = t->away[AWAY_BLOCKED];
}
