/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * thread: the account of a thread that reads requests: how long it had no CPU, and why; and with
 * request_config.calls, how long it had one in system calls.
 *
 * Why it sleeps is told by what the kernel itself notes: that it waits for I/O (in_iowait), that it
 * waits for a lock (the tracepoint contention_begin), and its system call, if that serves nothing
 * else.
 */
#pragma once

#include <plumb/bpf/sched/irq-time.bpf.h>
#include <plumb/bpf/sched/registers.bpf.h>
#include <plumb/bpf/syscall/selection.bpf.h>
#include "request-latency.h"

/* How it left its CPU. */
enum request_left { LEFT_ASLEEP, LEFT_PREEMPTED, LEFT_THROTTLED };

#define PENDING_CALLS 4

struct request_thread {
	__u64 left; /* the CPU, ns, CLOCK_MONOTONIC; 0: it has one */
	__u64 how;
	__u64 what;                      /* of a sleep, as in struct request_use */
	__u64 last_left, last_how;       /* the same, when it was back last */
	__u64 account[REQUEST_ACCOUNTS]; /* ns */
	__u64 serves;                    /* the socket of which it read a request last */
	__u64 lock;                      /* the kernel's lock that it waits for; 0: none */
	/* Since it has sent something on a socket that is no server's: */
	__u64 asked;   /* when, ns, if spans are kept; 0: nothing is */
	__u64 pending; /* ns of REQUEST_BLOCKED that can be REQUEST_DOWNSTREAM, and in which calls
			*/
	struct request_use pending_calls[PENDING_CALLS];
	/* The system call that it is in, if calls are followed; 0: none. */
	__u64 call, since, off_since;
	__u32 n_pending, n_uses;
	struct request_use uses[REQUEST_USES];
	/* The last ones, if requests are sent one by one; SPAN: the oldest. */
	struct request_span spans[REQUEST_SPANS];
	__u32 span, pad;
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

const volatile struct request_config request_config = {};
/* The kind and 1 of each system call; 0: none (plumb_syscalls_are()). */
const volatile __u8 request_call_kinds[2 * PLUMB_SYSCALLS] = {};

static __always_inline struct request_thread *thread_of(struct task_struct *task)
{
	return filter_thread(task) ? inflight_get(task) : NULL;
}

/* Add NS to WHAT among the MOST uses at ALL, of which N are in use. */
static __always_inline void add_among(struct request_use *all, __u32 *n, __u32 most, __u64 what,
				      __u64 ns)
{
	__u32 i;

	for (i = 0; i < most; i++) {
		if (i >= *n) {
			all[i].what = what;
			all[i].ns = 0;
			*n = i + 1;
		}
		if (all[i].what == what) {
			all[i].ns += ns;
			return;
		}
	}
}

static __noinline int use_add(struct request_thread *t, __u64 what, __u64 ns)
{
	if (t) /* for the verifier */
		add_among(t->uses, &t->n_uses, REQUEST_USES, what, ns);
	return 0;
}

/* --- why it sleeps --- */

/* As the low bits of struct request_use.what. */
static __always_inline __u64 current_call(struct task_struct *task)
{
	__u64 call = registers_call(task);

	return call ? call | (__u64)syscall_abi(task) << REQUEST_CALL_ABI_SHIFT : 0;
}

/* A mutex is waited for by these; conditions and semaphores by others. */
static __always_inline bool futex_is_lock(struct task_struct *task)
{
	struct pt_regs *regs = return_registers(task);
	__u32 op =
		(syscall_abi(task) ? BPF_CORE_READ(regs, cx) : return_second_argument(regs)) & 0x7f;

	return op == 0 /* FUTEX_WAIT */ || op == 6 /* LOCK_PI */ || op == 13 /* LOCK_PI2 */;
}

static __noinline __u64 why_asleep(const struct request_thread *t)
{
	struct task_struct *task = current_task();
	__u64 call = current_call(task);
	__u32 kind = call ? syscall_kind(request_call_kinds, (__u32)call - 1,
					 call >> REQUEST_CALL_ABI_SHIFT)
			  : 0;

	if (sched_waits_for_io(task))
		return REQUEST_WHAT(REQUEST_DISK) | call;
	if ((t && t->lock) || kind == 1 + REQUEST_OF_LOCKS ||
	    (kind == 1 + REQUEST_OF_FUTEXES && futex_is_lock(task)))
		return REQUEST_WHAT(REQUEST_LOCK) | call;
	return REQUEST_WHAT(kind == 1 + REQUEST_OF_DISKS ? REQUEST_DISK : REQUEST_BLOCKED) | call;
}

static __always_inline void slept(struct request_thread *t, __u64 ns)
{
	__u32 part = t->what >> REQUEST_WHAT_SHIFT;

	if (part == REQUEST_BLOCKED && t->asked) {
		t->pending += ns;
		add_among(t->pending_calls, &t->n_pending, PENDING_CALLS, t->what, ns);
		return;
	}
	if (part < REQUEST_ACCOUNTS) /* always */
		t->account[part] += ns;
	use_add(t, t->what, ns);
}

/* --- with a CPU and without --- */

static __always_inline void span_add(struct request_thread *t, __u64 what, __u64 waiting,
				     __u64 until)
{
	struct request_span *s = &t->spans[t->span % REQUEST_SPANS];

	s->what = what;
	s->from = t->last_left;
	s->waiting = waiting;
	s->until = until;
	t->span++;
}

/* The current thread has a CPU: add the time that it had none. */
static __noinline int thread_came_back(struct request_thread *t)
{
	struct task_struct *task = current_task();
	struct sched_stay *stay = sched_own_stay(task, bpf_get_smp_processor_id());
	__u64 off, waited;

	if (!stay || !t)
		return 0;
	off = stay->began - t->left;
	waited = sched_waited(stay, off);
	t->last_left = t->left;
	t->last_how = t->how;
	t->left = 0;
	/* It left a CPU whose clock is ahead of this one's. */
	if ((__s64)off < 0)
		return 0;
	if (t->how != LEFT_ASLEEP) {
		t->account[t->how == LEFT_THROTTLED ? REQUEST_QUOTA : REQUEST_PREEMPTED] += off;
		t->what =
			REQUEST_WHAT(t->how == LEFT_THROTTLED ? REQUEST_QUOTA : REQUEST_PREEMPTED);
		waited = 0;
	} else {
		slept(t, off - waited);
		t->account[REQUEST_RUNQ] += waited;
	}
	if (request_config.slower)
		span_add(t, t->what, stay->began - waited, stay->began);
	return 0;
}

static __always_inline void thread_is_back(struct request_thread *t)
{
	if (t->left)
		thread_came_back(t);
}

SEC("raw_tp/sched_switch")
int thread_leaves(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	__u64 now = bpf_ktime_get_ns();
	struct request_thread *t = thread_of(task);

	if (t) {
		thread_is_back(t);
		t->left = now;
		t->how = !ctx->args[0] && sched_state(task) != TASK_RUNNING ? LEFT_ASLEEP
			 : sched_is_throttled(task)                         ? LEFT_THROTTLED
									    : LEFT_PREEMPTED;
		if (t->how == LEFT_ASLEEP)
			t->what = why_asleep(t);
	}
	sched_switched(ctx, task, bpf_get_smp_processor_id(), now);
	return 0;
}

static __always_inline void irq_time_ended(struct irq_time *i __attribute__((unused)), __u64 ns)
{
	struct request_thread *t = thread_of(current_task());

	if (t)
		t->account[REQUEST_IRQ] += ns;
}

/* include/trace/events/lock.h */
#define LCB_F_SPIN  1
#define LCB_F_MUTEX 32

SEC("raw_tp/contention_begin")
int lock_wait_begins(__u64 *ctx)
{
	__u32 flags = argument_at(ctx, 1);
	struct request_thread *t;

	if ((flags & (LCB_F_SPIN | LCB_F_MUTEX)) == LCB_F_SPIN)
		return 0;
	t = thread_of(current_task());
	if (t)
		t->lock = argument_at(ctx, 0);
	return 0;
}

SEC("raw_tp/contention_end")
int lock_wait_ends(__u64 *ctx)
{
	struct request_thread *t = thread_of(current_task());

	if (t && t->lock == argument_at(ctx, 0))
		t->lock = 0;
	return 0;
}
