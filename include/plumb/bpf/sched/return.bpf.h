/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * return, BPF side: programs on context switches.  Nothing is done on a call but that its end is
 * remembered (plumb_return) in the state of its thread, which has it as its member ret.
 *
 * A thread that leaves its CPU is on its way out of its last call if it is in none, and if its
 * user's registers are those of a system call and have a result.  (An interrupt or a fault of user
 * code has stored others, but for one before the first instruction.)  Several waits of a call add
 * up.
 */
#pragma once

#include <plumb/bpf/core/inflight.bpf.h>
#include <plumb/bpf/core/ledger.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/sched/registers.bpf.h>
#include <plumb/bpf/sched/return.h>
#include <plumb/bpf/sched/sched-state.bpf.h>
#include <plumb/bpf/sched/split.h>

#define PF_EXITING 0x00000004 /* include/linux/sched.h */

/*
 * Defined by the tool: find the current thread's last call, if it is on its way out of that, set
 * t->ret.ended, and by return_is_fresh() what else will be needed; remove the call from its row,
 * after H has got what return_redo() needs to record it again, with h->ret.ns (false: it cannot be
 * removed).  For return_redo(), h->ret.left is when the last wait began, and ended when it ended.
 * A tool whose calls are more than a time and an error defines RETURN_CALL, a struct.
 */
struct return_held;
static __always_inline bool return_find(PLUMB_THREAD *t, struct task_struct *task);
static __always_inline bool return_undo(struct bpf_raw_tracepoint_args *ctx, PLUMB_THREAD *t,
					struct return_held *h, __u32 cpu);
static __always_inline void return_redo(struct return_held *h, __u32 cpu);

/*
 * A thread that waits or has waited, under the address of its task: when it gets a CPU, another
 * thread is current, and a raw tracepoint has no more of it.  Its own state is brought up to date
 * when it is current.
 */
struct return_held {
	struct plumb_return ret;
#ifdef RETURN_CALL
	struct RETURN_CALL call;
#else
	__u64 off[PLUMB_RETURN_PARTS]; /* ns of the call off the CPU, by part */
#endif
};

PLUMB_MAP(plumb_held, HASH, 8192, __u64, struct return_held);

PLUMB_MAP(plumb_returns, ARRAY, 1 /* set by the loader: possible CPUs */, __u32,
	  struct plumb_returns);

/* Threads that wait on their way out. */
static __u64 return_waiting = 0;

/*
 * The system call before whose next instruction an interrupt took the CPU from the current thread;
 * negative: none.  An interrupt that comes on the way out is taken there.  SYSCALL leaves the
 * address of that instruction in rcx, too.  The number is known if it was loaded just before, as by
 * the functions of a C library.  A thread that sleeps has a page fault.
 */
static __always_inline long return_interrupted(const struct pt_regs *regs, struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	__u64 at = return_register(regs, ip), code = 0; /* mov $NUMBER, %eax; syscall */

	if ((__u64)return_register(regs, cx) == at && sched_state(task) == TASK_RUNNING &&
	    !bpf_probe_read_user(&code, 7, (void *)(at - 7)) && (__u8)code == 0xb8 &&
	    code >> 40 == 0x050f)
		return (__u32)(code >> 8);
#else
	(void)regs, (void)task;
#endif
	return -1;
}

/* The system call that the current thread is on its way out of: number and result; false: none. */
static __always_inline bool return_call(const struct pt_regs *regs, __u32 *nr, long *result)
{
	long number = return_number(regs);

	if (number < 0)
		number = return_interrupted(regs, current_task());
	*nr = number;
	return !return_has_none(regs, result) && number >= 0 && !return_to_handler(regs, *result);
}

/* Whether T's call has not been found before. */
static __always_inline bool return_is_fresh(PLUMB_THREAD *t)
{
	if (t->ret.found == t->ret.ended)
		return false;
	t->ret.found = t->ret.ended;
	t->ret.waited = t->ret.longest = t->ret.late = 0;
	return true;
}

/* The thread of H has had no CPU since ret.left, until NOW. */
static __noinline int return_came(struct return_held *h, __u64 now)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_returns *sums = bpf_map_lookup_elem(&plumb_returns, &cpu);
	struct plumb_return *r;
	__u64 ns;

	if (!h || !sums) /* for the verifier */
		return 0;
	r = &h->ret;
	/* The CPU that it left has a clock that is ahead of this one's. */
	if ((__s64)(now - r->left) < 0)
		now = r->left;
	ns = now - r->left;
	atomic_add(&return_waiting, -1);
	r->waited += ns;
	if (ns >= r->longest) {
		r->longest = ns;
		r->longest_cause = r->cause;
	}
	if (!r->late) {
		r->ns += now - r->ended;
		r->ended = r->found = now;
		return_redo(h, cpu);
	} else {
		sums->late_ns += ns;
	}
	r->left = 0;
	sums->ns += ns;
	if (r->cause < PLUMB_RETURN_CAUSES)
		sums->by_cause[r->cause] += ns;
	if (r->waited > sums->longest)
		sums->longest = r->waited;
	return 0;
}

/* How long the current thread has waited for CPUs, but for the wait that it is about to begin. */
static __always_inline __u64 return_queued(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.run_delay))
		return 0;
	return current_read(task, sched_info.run_delay);
}

/*
 * The current thread, to which H belongs, has a CPU.  Was its switch not seen (some threads have
 * their switches hidden, and while another tracer attaches, the kernel may skip programs), the
 * scheduler's own account has its wait for a CPU, but no sleep.
 */
static __noinline int return_unseen(struct return_held *h)
{
	__u64 came, now = bpf_ktime_get_ns();

	if (!h || !h->ret.left)
		return 0;
	came = h->ret.left + return_queued(current_task()) - h->ret.queued;
	return return_came(h, (__s64)(now - came) < 0 ? now : came);
}

/* The current thread, whose state is T, has waited. */
static __noinline int return_take_over(PLUMB_THREAD *t)
{
	__u64 key = (__u64)bpf_get_current_task();
	struct return_held *h = bpf_map_lookup_elem(&plumb_held, &key);

	if (!t)
		return 0;
	t->ret.left = 0;
	if (!h)
		return 0;
	return_unseen(h);
	t->ret = h->ret;
	return 0;
}

static __always_inline void return_settle(PLUMB_THREAD *t)
{
	if (unlikely(t->ret.left))
		return_take_over(t);
}

/* The thread's last call is over: another one begins. */
static __always_inline void return_forget(PLUMB_THREAD *t)
{
	return_settle(t);
	t->ret.ended = 0;
}

static __always_inline void return_end(PLUMB_THREAD *t)
{
	__u64 key = (__u64)bpf_get_current_task();

	return_settle(t);
	bpf_map_delete_elem(&plumb_held, &key);
}

/* Instead of that of core/exit.bpf.h. */
SEC("raw_tp/sched_process_exit")
int thread_exit(void *ctx __attribute__((unused)))
{
	struct task_struct *task = current_task();
	PLUMB_THREAD *t = inflight_get(task);
	__u32 inside = inflight_clear(t, task);

	if (t)
		return_end(t);
	inflight_end(task, inside);
	return 0;
}

/* The current thread leaves its CPU. */
static __noinline int return_left(struct bpf_raw_tracepoint_args *ctx, PLUMB_THREAD *t)
{
	static const struct return_held empty;
	struct task_struct *task = current_task();
	__u64 key = (__u64)bpf_get_current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_returns *sums;
	struct return_held *h;

	/* A thread that exits does not return; its call was recorded, or abandoned. */
	if (!t || current_read(task, flags) & PF_EXITING || !return_find(t, task))
		return 0;
	sums = bpf_map_lookup_elem(&plumb_returns, &cpu);
	if (!sums)
		return 0;
	if (!t->ret.waited)
		sums->calls++;
	h = bpf_map_lookup_elem(&plumb_held, &key);
	if (!h && !bpf_map_update_elem(&plumb_held, &key, &empty, BPF_ANY)) /* else it is full */
		h = bpf_map_lookup_elem(&plumb_held, &key);
	if (!t->ret.late &&
	    (!h || t->ret.ended <= plumb_read_until || !return_undo(ctx, t, h, cpu))) {
		sums->late++;
		t->ret.late = 1;
	}
	if (!h)
		return 0;
	if (!ctx->args[0] && sched_state(task) != TASK_RUNNING)
		t->ret.cause = PLUMB_RETURN_ASLEEP;
	else
		t->ret.cause =
			sched_is_throttled(task) ? PLUMB_RETURN_QUOTA : PLUMB_RETURN_PREEMPTED;
	atomic_add(&return_waiting, 1);
	t->ret.task = key;
	t->ret.cpu = cpu;
	t->ret.queued = return_queued(task);
	t->ret.left = bpf_ktime_get_ns();
	h->ret = t->ret;
	return 0;
}

SEC("raw_tp/sched_switch")
int thread_returns(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	struct pt_regs *regs = return_registers(task);
	__u64 key = ctx->args[1], next = ctx->args[2];
	struct return_held *h;
	PLUMB_THREAD *t;
	long result;

	/* Mostly threads sleep in a call: these are not looked up. */
	t = return_has_none(regs, &result) && return_number(regs) >= 0 ? NULL : inflight_get(task);
	if (t) {
		return_settle(t);
		return_left(ctx, t);
	}
	if (!return_waiting)
		return 0;
	if (!t)
		return_unseen(bpf_map_lookup_elem(&plumb_held, &key));
	h = bpf_map_lookup_elem(&plumb_held, &next);
	if (h && h->ret.left)
		return_came(h, bpf_ktime_get_ns());
	return 0;
}
