/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define SCHED_MEANWHILE
#include <plumb/bpf/sched/offcpu.bpf.h>
#include <plumb/bpf/sched/meanwhile.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>

#define PLUMB_KEY struct plumb_who
#include <plumb/bpf/key/key-cpu.bpf.h>

/* Waits that began when the CPU quota of the thread's cgroup was used up. */
__u64 runq_throttled = 0;

/* Record how long the current thread waited for its CPU, unless that was recorded already. */
static __always_inline void offcpu_ends(struct task_struct *task, __u32 cpu)
{
	struct sched_stay *stay = sched_stay(cpu);
	struct plumb_who key = {};
	bool known;
	__u64 wait;

	/* task 0: the stay began before the trace, or its wait was recorded. */
	if (!stay || !stay->task)
		return;
	known = sched_is_of(stay, task) && stay->since;
	stay->task = 0;
	if (!filter_thread(task) || !filter_entry(task))
		return;
	if (!known) {
		ledger_count(cpu, unmatched);
		return;
	}
	wait = sched_waited(stay, ~0ULL);
	hist_record(key_cpu_slot(task, &key, cpu), cpu, wait, 0, false);
	if (plumb_config.meanwhile)
		meanwhile_wait(cpu, stay->began - wait, stay->began);
}

static __always_inline void offcpu_leaves(struct bpf_raw_tracepoint_args *ctx,
					  struct task_struct *task, __u32 cpu, __u64 now)
{
	offcpu_ends(task, cpu);
	if (!ctx->args[0] && sched_state(task) != TASK_RUNNING)
		return;
	sched_wait_begin((__u64)ctx->args[1], now);
	if (sched_is_throttled(task) && filter_thread(task) && filter_entry(task))
		atomic_add(&runq_throttled, 1);
}

/* Never attached: the loader runs it to get the thread id of a wait's task. */
SEC("raw_tp")
int thread_number(struct bpf_raw_tracepoint_args *ctx)
{
	return task_tid((struct task_struct *)ctx->args[0]);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
