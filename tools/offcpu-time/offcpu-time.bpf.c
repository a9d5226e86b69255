/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "offcpu-time.h"
#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/sched/interrupts.bpf.h>
#include <plumb/bpf/sched/registers.bpf.h>
#define SCHED_WAKERS
#define PLUMB_KEY struct offcpu_key

/* When a thread last left its CPU, and with which stacks. */
struct offcpu_thread {
	__u64 left; /* ns, CLOCK_MONOTONIC; 0: not seen leaving, or already recorded */
	__u64 task;
	__u64 ran;       /* sched_ran() then */
	__s32 kernel[2]; /* last stacks: when it blocked, and when it was preempted */
	__s32 user;
	__u32 tgid; /* of the user stack */
	__u32 preempted, what;
	__u32 cpu;  /* the CPU that it left */
	__u32 call; /* in which it sleeps (call_of()) */
	/*
	 * The call in which it sleeps most of its time, by the majority vote of Boyer and Moore, in
	 * which an interval has as many votes as ns; how long since it is this one.
	 */
	__u64 votes, asleep;
	__u32 most;
	__u32 throttled; /* if PREEMPTED: it had no CPU quota */
	struct plumb_waker preempter;
};

#define PLUMB_THREAD struct offcpu_thread
#include <plumb/bpf/core/inflight.bpf.h>
#include <plumb/bpf/sched/offcpu.bpf.h>
#include <plumb/bpf/sched/meanwhile.bpf.h>
#include <plumb/bpf/stack/again.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>

const volatile struct offcpu_config offcpu_config = {};

static __always_inline enum offcpu_state state_of(struct task_struct *task, bool preempted)
{
	long state = sched_state(task);

	if (preempted || state == TASK_RUNNING)
		return sched_is_throttled(task) ? OFFCPU_THROTTLED : OFFCPU_PREEMPTED;
	if (state & TASK_NOLOAD)
		return OFFCPU_IDLE;
	if (state & (TASK_INTERRUPTIBLE | TASK_WAKING))
		return OFFCPU_SLEEPING;
	if (state & TASK_UNINTERRUPTIBLE)
		return OFFCPU_UNINTERRUPTIBLE;
	return OFFCPU_OTHER;
}

/* The key's waker or preempter; a preempter has no stacks. */
static __always_inline void tell_waker(struct plumb_waker *to, const struct plumb_waker *waker)
{
	to->kind = waker->kind;
	to->kernel = waker->kernel;
	to->user = waker->user;
	if (waker->kind == PLUMB_WAKER_INTERRUPT || waker->kind == PLUMB_THROTTLED ||
	    waker->kind == PLUMB_WAKER_TIMER)
		return;
	if (waker->kind != PLUMB_WAKER_DEVICE) {
		to->pid = waker->pid;
		to->tid = waker->tid;
	}
	__builtin_memcpy(to->comm, waker->comm, sizeof(to->comm));
}

/* When the first traced thread was seen; ns, CLOCK_MONOTONIC. */
static __u64 offcpu_began = 0;

/* Whether rows are getting scarce, as with hundreds of threads that wake one another. */
__u32 offcpu_crowded = 0; /* not static: clang would make a byte of it */

#if defined(__TARGET_ARCH_x86)
#define NR_futex 202
#else
#define NR_futex 98
#endif
/* include/uapi/linux/futex.h */
#define FUTEX_CMD_MASK    0x7f
#define FUTEX_WAIT_BITSET 9
#define NOT_FOR_WORK      ((__u32)-1)

/*
 * The system call of a thread that blocks, or 0; of a kernel thread, 0. Of the futex operations one
 * waits for conditions and semaphores; the others wait for mutexes.
 */
static __always_inline __u32 call_of(struct task_struct *task)
{
	struct pt_regs *regs;
	__u32 nr;

	if (current_read(task, flags) & PF_KTHREAD)
		return 0;
	regs = return_registers(task);
	nr = return_number(regs);
	if (nr == NR_futex && (return_second_argument(regs) & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET)
		return NOT_FOR_WORK;
	return nr;
}

/* T slept for NS, until CAME. Whether it has done so in this call most of the time of the trace. */
static __always_inline bool is_idle(struct offcpu_thread *t, __u64 ns, __u64 came)
{
	if (t->most == t->call) {
		t->votes += ns;
		t->asleep += ns;
	} else if (t->votes >= ns) {
		t->votes -= ns;
		return false;
	} else {
		t->votes = ns - t->votes;
		t->asleep = ns;
		t->most = t->call;
	}
	return t->call != NOT_FOR_WORK && t->asleep >= (came - offcpu_began) / 2;
}

/* Record the off-CPU interval of a thread that is back on a CPU. */
static __always_inline void came_back(struct offcpu_thread *t, struct task_struct *task, __u32 cpu,
				      __u64 now)
{
	const struct sched_stay *last = sched_stay(cpu);
	const bool seen = last && sched_is_of(last, task);
	const struct sched_stay *stay = sched_own_stay(task, cpu);
	const __u64 came = seen ? last->began : now - (sched_ran(task) - t->ran);
	__u64 ns = came - t->left;
	struct offcpu_key key = {
		.stack.kernel = t->kernel[t->preempted & 1],
		.stack.user = t->user,
		.stack.tgid = t->tgid,
		.stack.what = t->what,
	};
	struct plumb_totals *totals;
	__u64 left = t->left;
	__u32 slot;

	if (!left)
		return;
	t->left = 0;
	if (!t->preempted)
		sched_asleep(-1);
	if (plumb_config.wakers && t->preempted)
		waker_had_cpu(&t->preempter, t->cpu, left, came);
	if (plumb_config.wakers && stay)
		tell_waker(&key.waker, t->preempted ? &t->preempter : &stay->waker);
	/* It left a CPU whose clock is ahead of this one's. */
	if ((__s64)ns < 0)
		ns = 0;
	if (ns < offcpu_config.min_ns || ns > offcpu_config.max_ns) {
		ledger_count(cpu, filtered_at_exit);
		return;
	}
	if (plumb_config.wakers && !t->preempted && !offcpu_crowded) {
		key.tid = task_tid(task);
		key.lock = t->call == NOT_FOR_WORK;
	}
	slot = key_cpu_slot(task, &key, cpu);
	if (slot > plumb_config.slots / 2)
		offcpu_crowded = 1;
	totals = totals_of(slot, cpu);
	if (!totals)
		return;
	totals_add_call(totals, 0);
	totals_add_time(totals, ns);
	if (!t->preempted && is_idle(t, ns, came))
		plumb_add(totals->counters[OFFCPU_IDLE_NS], ns);
	if (plumb_config.meanwhile && t->preempted)
		meanwhile_wait(t->cpu, came - ns, came, t->throttled);
	else if (plumb_config.meanwhile && stay)
		meanwhile_wait(cpu, came - sched_waited(stay, ns), came, false);
}

static __always_inline void record_leave(struct bpf_raw_tracepoint_args *ctx,
					 struct task_struct *task, __u32 cpu, __u64 now)
{
	struct offcpu_thread *t;
	__s32 *kernel;

	if (!plumb_live || !filter_thread(task))
		return;
	if (!filter_entry(task)) {
		/* It was renamed, or moved to another cgroup: what it did before is over. */
		t = filter_may_have_lost() ? inflight_get(task) : NULL;
		if (t) {
			came_back(t, task, cpu, now);
			inflight_drop(task);
		}
		return;
	}
	t = inflight_make(task);
	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	came_back(t, task, cpu, now);
	if (sched_state(task) & TASK_DEAD)
		return;
	ledger_count(cpu, began);
	if (plumb_config.by & OFFCPU_BY_STATE)
		t->what = state_of(task, ctx->args[0]);
	t->preempted = ctx->args[0] || sched_state(task) == TASK_RUNNING;
	t->throttled = plumb_config.meanwhile && t->preempted && sched_is_throttled(task);
	if (!offcpu_began)
		offcpu_began = now;
	if (!t->preempted) {
		sched_asleep(1);
		t->call = call_of(task);
	} else if (plumb_config.wakers) {
		waker_preempter(&t->preempter, task, (struct task_struct *)ctx->args[2]);
	}
	kernel = &t->kernel[t->preempted & 1]; /* the mask is for the verifier */
	*kernel = stack_again(ctx, *kernel, cpu);
	t->tgid = 0;
	t->user = stack_user(ctx, task, cpu, &t->tgid);
	t->task = bpf_get_current_task();
	t->ran = sched_ran(task);
	t->cpu = cpu;
	t->left = now;
}

static __always_inline void offcpu_leaves(struct bpf_raw_tracepoint_args *ctx,
					  struct task_struct *task, __u32 cpu, __u64 now)
{
	record_leave(ctx, task, cpu, now);
	/* Nothing can use its state after its last switch. */
	if (sched_state(task) & TASK_DEAD)
		inflight_drop(task);
}

static __always_inline void offcpu_ends(struct task_struct *task, __u32 cpu)
{
	struct offcpu_thread *t = inflight_get(task);

	if (t)
		came_back(t, task, cpu, bpf_ktime_get_ns());
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
