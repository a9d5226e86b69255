/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time of a thread is a chain: when it leaves its CPU, all since it last left one is added to
 * rows: what it did off the CPU, and its time on it.  What it did on the CPU is sampled.
 */
#include "wall-time.h"
#include <plumb/bpf/core/common.bpf.h>
#define SCHED_WAKERS
#define MEANWHILE_ADD
#define PLUMB_KEY struct wall_key

struct wall_thread {
	/* ns, CLOCK_MONOTONIC: its time is in rows from the first to the second; 0: none is */
	__u64 from, until;
	__u64 task;
	__u64 ran; /* sched_ran() as of the second */
	__u32 how; /* enum wall_how */
	__u32 cpu; /* that it left */
	__s32 kernel, user;
	__u32 tgid; /* of the user stack */
	__u32 what; /* as plumb_stack_key.what */
	__u32 device;
	__u32 busy; /* its time is being added */
	__u64 peer;
	struct plumb_meanwhile waiter; /* it waited long for a CPU; kind 0: it has not */
};

#define PLUMB_THREAD struct wall_thread
#include <plumb/bpf/core/cpus.bpf.h>
#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/core/inflight.bpf.h>
#include <plumb/bpf/sched/meanwhile.bpf.h>
#include <plumb/bpf/sched/registers.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>
#include "descriptor.bpf.h"
#include "rows.bpf.h"

/* include/linux/sched.h */
#define TASK_STOPPED 0x0004
#define TASK_TRACED  0x0008

const volatile __u32 wall_futex = 0; /* the number and 1 of that system call */

/* When the trace began, ns, CLOCK_MONOTONIC; 0: it has not. */
__u64 wall_began = 0;
/* Samples of idle CPUs, and of threads that the filters exclude. */
struct {
	__u64 idle, others;
} wall_rest = {};

/* Where it says on some kernels whether a thread waits for I/O. */
struct task_struct___io {
	unsigned int in_iowait : 1;
} __attribute__((preserve_access_index));

/* When the time of a thread begins that is seen for the first time. */
static __always_inline __u64 first_seen(struct task_struct *task)
{
	__u64 born = current_read(task, start_time);

	return born > wall_began ? born : wall_began;
}

/* Add the time of the current thread until NOW, when it has a CPU. */
static __always_inline void account(struct wall_thread *t, struct task_struct *task, __u32 cpu,
				    __u64 now)
{
	const struct sched_stay *last = sched_stay(cpu);
	const bool seen = last && sched_is_of(last, task);
	const struct sched_stay *stay = sched_own_stay(task, cpu);
	bool first = !t->until;
	__u64 came, woken;

	if (!stay)
		return;
	came = seen || first ? stay->began : now - (sched_ran(task) - t->ran);
	if (first)
		t->from = t->until = first_seen(task);
	if (came < t->until)
		came = t->until;
	/* It left a CPU whose clock is ahead of this one's. */
	if (came > now)
		came = now;
	woken = stay->since > t->until && stay->since < came ? stay->since : came;
	if (first && t->until > wall_began) { /* new: it had no CPU yet */
		add_wait(cpu, t->until, came);
	} else if (first) {
		if (woken > t->until)
			add_plain(task, WALL_BEFORE, woken - t->until);
		add_wait(cpu, woken, came);
	} else if (t->how == WALL_SLEPT || t->how == WALL_WAS_STOPPED) {
		sched_asleep(-1);
		if (woken > t->until)
			add_sleep(t, task, &stay->waker, woken - t->until);
		add_wait(cpu, woken, came);
	} else {
		add_wait(t->cpu, t->until, came);
	}
	t->how = WALL_NEVER_LEFT;
	if (now > came)
		add_plain(task, WALL_ON, now - came);
	t->until = now > came ? now : came;
	t->ran = sched_ran(task);
}

/* The current thread is traced from NOW on, while it has a CPU. */
static __always_inline void is_in_again(struct wall_thread *t, struct task_struct *task, __u64 now)
{
	t->from += now - t->until;
	t->until = now;
	t->ran = sched_ran(task);
	t->how = WALL_NEVER_LEFT;
}

static __always_inline bool waits_for_io(struct task_struct *task)
{
	struct task_struct___io *io = (struct task_struct___io *)task;

	return BPF_CORE_READ_BITFIELD_PROBED(io, in_iowait);
}

static __always_inline enum wall_how how_it_leaves(struct bpf_raw_tracepoint_args *ctx,
						   struct task_struct *task)
{
	long state = sched_state(task);

	if (ctx->args[0] || state == TASK_RUNNING)
		return sched_is_throttled(task) ? WALL_WAS_THROTTLED : WALL_WAS_PREEMPTED;
	return state & (TASK_STOPPED | TASK_TRACED) ? WALL_WAS_STOPPED : WALL_SLEPT;
}

static __always_inline void remember(struct bpf_raw_tracepoint_args *ctx, struct wall_thread *t,
				     struct task_struct *task, __u32 cpu)
{
	__u32 disk;

	t->how = how_it_leaves(ctx, task);
	t->cpu = cpu;
	t->task = bpf_get_current_task();
	if (t->how != WALL_SLEPT && t->how != WALL_WAS_STOPPED)
		return;
	sched_asleep(1);
	t->what = registers_call(task) & WALL_CALL;
	disk = look_at_file(t, task);
	if (disk)
		disk_wait_begins(t->task, disk, t->until);
	if (disk && disk_is_limited(task, disk))
		t->what |= WALL_LIMITED;
	if ((t->what & WALL_CALL) == wall_futex)
		t->what |= (return_second_argument(return_registers(task)) & WALL_OP)
			   << WALL_OP_SHIFT;
	if (waits_for_io(task))
		t->what |= WALL_IO;
	t->kernel = stack_number(ctx, 0, cpu);
	t->tgid = 0;
	t->user = stack_user(ctx, task, cpu, &t->tgid);
}

static __always_inline void leaves(struct bpf_raw_tracepoint_args *ctx, struct task_struct *task,
				   __u32 cpu, __u64 now)
{
	struct wall_thread *t;

	if (!filter_thread(task))
		return;
	if (!filter_entry(task)) {
		t = filter_may_have_lost() ? inflight_get(task) : NULL;
		if (t && t->how != WALL_NEVER_LEFT && t->how != WALL_IS_OUT)
			account(t, task, cpu, now);
		if (t)
			t->how = WALL_IS_OUT;
		if (sched_state(task) & TASK_DEAD)
			inflight_drop(task);
		return;
	}
	t = inflight_make(task);
	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	if (t->how == WALL_IS_OUT)
		is_in_again(t, task, now);
	account(t, task, cpu, now);
	/* It can have been woken before it had left. */
	disk_wait_ends((__u64)task, now);
	if (sched_state(task) & TASK_DEAD)
		inflight_drop(task);
	else
		remember(ctx, t, task, cpu);
}

SEC("raw_tp/sched_switch")
int on_leave(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 now = bpf_ktime_get_ns();

	if (!plumb_live || !wall_began)
		return 0;
	if (current_host_tid(task))
		leaves(ctx, task, cpu, now);
	sched_switched(ctx, task, cpu, now);
	return 0;
}

static __always_inline void account_so_far(void)
{
	struct task_struct *task = current_task();
	struct wall_thread *t = plumb_live ? inflight_get(task) : NULL;

	if (!t || t->how == WALL_IS_OUT)
		return;
	t->busy = 1;
	barrier();
	account(t, task, bpf_get_smp_processor_id(), bpf_ktime_get_ns());
	barrier();
	t->busy = 0;
}

/* Its parent may end the trace before the last switch of the thread. */
SEC("raw_tp/sched_process_exit")
int thread_ends(void *ctx __attribute__((unused)))
{
	account_so_far();
	return 0;
}

/* Before it has another name. */
SEC("raw_tp/task_rename")
int name_changes(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	struct wall_thread *t;

	if (ctx->args[0] != bpf_get_current_task() || !plumb_live || !wall_began)
		return 0;
	account_so_far();
	/* From now on it may be of a name that is traced. */
	if (!filter_by_comm() || !filter_thread(task))
		return 0;
	t = inflight_make(task);
	if (t && (!t->until || t->how == WALL_IS_OUT))
		is_in_again(t, task, bpf_ktime_get_ns());
	return 0;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	struct wall_key key = {.kind = WALL_SAMPLE};
	struct plumb_totals *totals;
	struct wall_thread *t;

	if (!plumb_live || !wall_began)
		return 0;
	if (!current_host_tid(task)) {
		atomic_add(&wall_rest.idle, 1);
		return 0;
	}
	if (!filter_thread(task) || !filter_entry(task)) {
		atomic_add(&wall_rest.others, 1);
		return 0;
	}
	t = inflight_get(task);
	if (t && t->busy)
		return 0;
	key.stack.what = registers_call(task) & WALL_CALL;
	key.stack.kernel = stack_number(ctx, 0, cpu);
	key.stack.user = stack_user(ctx, task, cpu, &key.stack.tgid);
	totals = totals_of(key_cpu_slot(task, &key, cpu), cpu);
	if (totals)
		totals_add_call(totals, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
