/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time of a thread is a chain: when it leaves its CPU, all since it last left one is added to
 * rows: what it did off the CPU, and its time on it.  What it did on the CPU is sampled.
 */
#include "wall-time.h"
#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/sched/irq-time.bpf.h>
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
	__u64 group; /* of the scheduler, whose quota was used up */
	__u32 out;   /* its name or cgroup is not traced: its time does not count */
	__u32 pad;
};

#define PLUMB_THREAD struct wall_thread
#include <plumb/bpf/core/cpus.bpf.h>
#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/core/inflight.bpf.h>
#include <plumb/bpf/sched/meanwhile.bpf.h>
#include <plumb/bpf/sched/registers.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/stack/again.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>
#include "descriptor.bpf.h"
#include "rows.bpf.h"
#include "interrupts.bpf.h"

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

/*
 * When threads were last renamed by another one, or moved to another cgroup, by task or that of
 * their process: ns, CLOCK_MONOTONIC.  Only if that decides who is traced.
 */
PLUMB_MAP(wall_changes, LRU_HASH, 4096, __u64, __u64);

static __always_inline __u64 changed_at(struct task_struct *task)
{
	__u64 key = bpf_get_current_task(), *at;

	if (!filter_may_have_lost())
		return 0;
	at = bpf_map_lookup_elem(&wall_changes, &key);
	if (!at && plumb_config.ncgroups) {
		key = (__u64)current_read(task, group_leader);
		at = bpf_map_lookup_elem(&wall_changes, &key);
	}
	return at ? *at : 0;
}

static __always_inline bool was_asleep(const struct wall_thread *t)
{
	return t->how == WALL_SLEPT || t->how == WALL_WAS_STOPPED;
}

/* The current thread is traced from NOW on, while it has a CPU. */
static __always_inline void is_in_again(struct wall_thread *t, struct task_struct *task, __u64 now)
{
	if (was_asleep(t))
		sched_asleep(-1);
	t->from += now - t->until;
	t->until = now;
	t->ran = sched_ran(task);
	t->how = WALL_NEVER_LEFT;
	t->out = 0;
}

/* When the time of a thread begins that is seen for the first time. */
static __always_inline __u64 first_seen(struct task_struct *task, bool *is_new)
{
	__u64 born = current_read(task, start_time), changed = changed_at(task), from;

	*is_new = born > wall_began;
	from = *is_new ? born : wall_began;
	return changed > from ? changed : from;
}

/* Add the time of the current thread until END, at most NOW, when it has a CPU. */
static __always_inline void account(struct wall_thread *t, struct task_struct *task, __u32 cpu,
				    __u64 now, __u64 end)
{
	const struct sched_stay *last = sched_stay(cpu);
	const bool seen = last && sched_is_of(last, task);
	const struct sched_stay *stay = sched_own_stay(task, cpu);
	bool first = !t->until, is_new = false;
	__u64 came, woken;

	if (!stay)
		return;
	came = seen || first ? stay->began : now - (sched_ran(task) - t->ran);
	if (first) {
		t->from = first_seen(task, &is_new);
		t->until = t->from;
	}
	/* It left a CPU whose clock is ahead of this one's. */
	if (came > end)
		came = end;
	if (came < t->until)
		came = t->until;
	woken = stay->since && stay->since < came ? stay->since : came;
	if (woken < t->until) /* it was still leaving */
		woken = t->until;
	if (is_new) { /* it had no CPU yet */
		add_wait(cpu, t->until, came);
	} else if (first) {
		if (woken > t->until)
			add_plain(WALL_BEFORE, woken - t->until);
		add_wait(cpu, woken, came);
	} else if (was_asleep(t)) {
		sched_asleep(-1);
		if (woken > t->until)
			add_sleep(cpu, woken - t->until);
		add_wait(cpu, woken, came);
	} else if (t->how == WALL_WAS_THROTTLED) {
		if (came > t->until)
			add_throttled(t->group, came - t->until);
	} else {
		add_wait(t->cpu, t->until, came);
	}
	t->how = WALL_NEVER_LEFT;
	if (end > came)
		add_plain(WALL_ON, end - came);
	add_interrupts(0);
	t->until = end > came ? end : came;
	t->ran = sched_ran(task);
}

static __always_inline enum wall_how how_it_leaves(struct bpf_raw_tracepoint_args *ctx,
						   struct task_struct *task)
{
	long state = sched_state(task);

	if (ctx->args[0] || state == TASK_RUNNING)
		return sched_is_throttled(task) ? WALL_WAS_THROTTLED : WALL_WAS_PREEMPTED;
	return state & (TASK_STOPPED | TASK_TRACED) ? WALL_WAS_STOPPED : WALL_SLEPT;
}

/* How the current thread leaves CPU. */
static __always_inline void remember(struct bpf_raw_tracepoint_args *ctx, struct wall_thread *t,
				     struct task_struct *task, __u32 cpu)
{
	__u64 queue;

	t->how = how_it_leaves(ctx, task);
	t->cpu = cpu;
	t->task = bpf_get_current_task();
	if (t->how == WALL_WAS_THROTTLED)
		t->group = sched_throttled_group(task, &queue);
	if (!was_asleep(t))
		return;
	sched_asleep(1);
	t->device = t->tgid = t->peer = 0;
	t->user = PLUMB_NO_STACK;
	t->what = registers_call(task) & WALL_CALL;
	if ((t->what & WALL_CALL) == wall_futex)
		t->what |= (return_second_argument(return_registers(task)) & WALL_OP)
			   << WALL_OP_SHIFT;
	if (sched_waits_for_io(task))
		t->what |= WALL_IO;
}

/* The same of a thread that is traced: also where, and for what. */
static __always_inline void remember_all(struct bpf_raw_tracepoint_args *ctx, struct wall_thread *t,
					 struct task_struct *task, __u32 cpu)
{
	__u32 disk;

	remember(ctx, t, task, cpu);
	if (!was_asleep(t))
		return;
	disk = look_at_file(t, task);
	if (disk)
		disk_wait_begins(t->task, disk, t->until);
	if (disk && disk_is_limited(task, disk))
		t->what |= WALL_LIMITED;
	t->kernel = stack_again(ctx, t->kernel, cpu);
	t->user = stack_user(ctx, task, cpu, &t->tgid);
}

/*
 * The current thread is not traced, or no more.  It can be one day, by another name or in another
 * cgroup, also while it is asleep.
 */
static __always_inline void leaves_unseen(struct bpf_raw_tracepoint_args *ctx,
					  struct task_struct *task, __u32 cpu, __u64 now)
{
	struct wall_thread *t = inflight_make(task);
	__u64 changed = changed_at(task);

	if (!t)
		return;
	if (t->until && !t->out)
		account(t, task, cpu, now, changed > t->until ? changed : t->until);
	else if (was_asleep(t))
		sched_asleep(-1);
	t->out = 1;
	t->from += now - t->until;
	t->until = now;
	t->kernel = PLUMB_NO_STACK;
	remember(ctx, t, task, cpu);
}

static __always_inline void leaves_seen(struct bpf_raw_tracepoint_args *ctx,
					struct task_struct *task, __u32 cpu, __u64 now)
{
	struct wall_thread *t = inflight_make(task);
	__u64 changed;

	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	changed = t->out ? changed_at(task) : 0;
	if (changed > t->until) {
		t->from += changed - t->until;
		t->until = changed;
		t->out = 0;
	} else if (t->out) {
		is_in_again(t, task, now);
	}
	account(t, task, cpu, now, now);
	/* It can have been woken before it had left. */
	disk_wait_ends((__u64)task, now);
	remember_all(ctx, t, task, cpu);
}

static __always_inline void leaves(struct bpf_raw_tracepoint_args *ctx, struct task_struct *task,
				   __u32 cpu, __u64 now)
{
	if (!filter_thread(task))
		return;
	if (filter_entry(task))
		leaves_seen(ctx, task, cpu, now);
	else if (filter_may_have_lost())
		leaves_unseen(ctx, task, cpu, now);
	if (sched_state(task) & TASK_DEAD)
		inflight_drop(task);
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
	interrupts_take(0);
	return 0;
}

static __always_inline void account_so_far(struct task_struct *task, __u64 now)
{
	struct wall_thread *t = inflight_get(task);

	if (!t || t->out || !t->until)
		return;
	t->busy = 1;
	barrier();
	account(t, task, bpf_get_smp_processor_id(), now, now);
	barrier();
	t->busy = 0;
}

/* Its parent may end the trace before the last switch of the thread. */
SEC("raw_tp/sched_process_exit")
int thread_ends(void *ctx __attribute__((unused)))
{
	if (plumb_live)
		account_so_far(current_task(), bpf_ktime_get_ns());
	return 0;
}

/* Before it has another name, which is the second argument. */
SEC("raw_tp/task_rename")
int name_changes(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	__u64 renamed = ctx->args[0], comm[2] = {}, now = bpf_ktime_get_ns();
	struct wall_thread *t;

	if (!plumb_live || !wall_began)
		return 0;
	if (renamed != bpf_get_current_task()) {
		if (filter_by_comm())
			bpf_map_update_elem(&wall_changes, &renamed, &now, BPF_ANY);
		return 0;
	}
	account_so_far(task, now);
	if (!filter_by_comm() || !filter_thread(task))
		return 0;
	t = inflight_make(task);
	if (!t)
		return 0;
	bpf_probe_read_kernel_str(comm, sizeof(comm), (const void *)ctx->args[1]);
	if (!filter_entry_as(task, comm))
		t->out = 1;
	else if (t->out || !t->until)
		is_in_again(t, task, now);
	return 0;
}

/* Loaded only with -g.  All threads of the process of the third argument may be moved. */
SEC("raw_tp/cgroup_attach_task")
int thread_moved(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 moved = ctx->args[2], now = bpf_ktime_get_ns();

	bpf_map_update_elem(&wall_changes, &moved, &now, BPF_ANY);
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
	/* A thread that never leaves its CPU has rows of what it did there, too. */
	if (!t || !t->out)
		add_interrupts(MANY_INTERRUPTS);
	key.stack.what = registers_call(task) & WALL_CALL;
	key.stack.kernel = stack_number(ctx, 0, cpu);
	key.stack.user = stack_user(ctx, task, cpu, &key.stack.tgid);
	totals = totals_of(row_of(task, &key, cpu), cpu);
	if (totals)
		totals_add_call(totals, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
