/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define SCHED_MEANWHILE
#define MEANWHILE_ADD
#include "runq-latency.h"
#include <plumb/bpf/sched/offcpu.bpf.h>
#include <plumb/bpf/sched/waits.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>

#define PLUMB_KEY struct plumb_who
#include <plumb/bpf/key/key-cpu.bpf.h>

/* In the time at which a preempted thread's wait began: it had no CPU quota. */
#define THROTTLED 1ULL

/* Waits that began when the CPU quota of the thread's cgroup was used up. */
__u64 runq_throttled = 0;

const volatile __u64 runq_slower = ~0ULL; /* ns: waits that are also sent one by one; ~0: none */
__u64 runq_dropped = 0;                   /* that there was no room for */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by the loader */
} runq_waits SEC(".maps");

/* What happened in a wait of the thread that a CPU switches from. */
PLUMB_MAP(runq_meanwhile, PERCPU_ARRAY, 1, __u32, struct plumb_waits);

static __always_inline struct plumb_waits *runq_meanwhile_now(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&runq_meanwhile, &zero);
}

static __always_inline void meanwhile_add(struct plumb_meanwhile *key, __u64 ns)
{
	struct plumb_waits *waits = runq_meanwhile_now();

	if (waits)
		waits_add(waits, key, ns);
	meanwhile_sum(key, ns);
}

/* Tells the loader of a wait of the current thread that ended at END. */
static __always_inline void send(const struct plumb_waits *waits, struct task_struct *task,
				 __u32 cpu, __u64 end, __u64 ns)
{
	struct runq_wait *w = bpf_ringbuf_reserve(&runq_waits, sizeof(*w), 0);

	if (!w) {
		atomic_add(&runq_dropped, 1);
		return;
	}
	w->end = end;
	w->ns = ns;
	w->cgroup = bpf_get_current_cgroup_id();
	w->pid = current_pid(task);
	w->tid = current_tid(task);
	w->cpu = cpu;
	w->pad = 0;
	bpf_get_current_comm(w->comm, sizeof(w->comm));
	bpf_probe_read_kernel(&w->waits, sizeof(w->waits), waits);
	bpf_ringbuf_submit(w, 0);
}

/* Record how long the current thread waited for its CPU, unless that was recorded already. */
static __always_inline void offcpu_ends(struct task_struct *task, __u32 cpu)
{
	struct sched_stay *stay = sched_stay(cpu);
	struct plumb_who key = {};
	struct plumb_waits *slow;
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
	slow = wait >= runq_slower ? runq_meanwhile_now() : NULL;
	if (slow)
		waits_clear(slow);
	if (slow ? plumb_config.meanwhile : plumb_config.meanwhile == RUNQ_TELL_ALL)
		meanwhile_wait(cpu, stay->began - wait, stay->began, stay->since & THROTTLED);
	if (slow)
		send(slow, task, cpu, stay->began, wait);
}

static __always_inline void offcpu_leaves(struct bpf_raw_tracepoint_args *ctx,
					  struct task_struct *task, __u32 cpu, __u64 now)
{
	bool throttled;

	offcpu_ends(task, cpu);
	if (!ctx->args[0] && sched_state(task) != TASK_RUNNING)
		return;
	throttled = sched_is_throttled(task);
	/* Not before NOW, when its turn ended. */
	sched_wait_begin((__u64)ctx->args[1], throttled ? now | THROTTLED : (now + 1) & ~THROTTLED);
	if (throttled && filter_thread(task) && filter_entry(task))
		atomic_add(&runq_throttled, 1);
}

/* Never attached: the loader runs it to get the thread id of a wait's task. */
SEC("raw_tp")
int thread_number(struct bpf_raw_tracepoint_args *ctx)
{
	return task_tid((struct task_struct *)ctx->args[0]);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
