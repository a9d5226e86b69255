/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process is recorded when its last thread exits.  That thread goes on for a while, as it frees
 * the memory, and the kernel lacks up to a tick of its CPU time then.  So that is added when the
 * kernel frees the first thread, after the parent has waited for it, or at a report before that,
 * once no thread of the process runs any more.
 */
#include "process-life.h"

#define PLUMB_KEY struct life_key
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include <plumb/bpf/sched/sched-state.bpf.h>
#include "arguments.bpf.h"

#define PF_KTHREAD        0x00200000 /* include/linux/sched.h */
#define EXIT_ZOMBIE       0x00000020
#define SIGNAL_GROUP_EXIT 4 /* include/linux/sched/signal.h */
#define ENOENT            2

/* When the trace began, ns, CLOCK_MONOTONIC, set by the loader. */
__u64 life_began = 0;

struct life_counts life_counts[PLUMB_LEDGERS] = {};

#define count(cpu, what) plumb_add(life_counts[(cpu) & (PLUMB_LEDGERS - 1)].what, 1)

/* --- beginnings, which are only counted --- */

SEC("raw_tp/sched_process_fork")
int process_begins(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task(), *child = (struct task_struct *)ctx->args[1];
	__u32 cpu = bpf_get_smp_processor_id();

	if (!plumb_live || !filter_thread(task) || !filter_entry(task))
		return 0;
	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
		count(cpu, threads);
	else if (!(BPF_CORE_READ(child, flags) & PF_KTHREAD)) {
		count(cpu, began);
		if (wants_arguments())
			arguments_inherit((__u64)current_read(task, group_leader), (__u64)child);
	}
	return 0;
}

SEC("raw_tp/sched_process_exec")
int process_executes(void *ctx __attribute__((unused)))
{
	struct task_struct *task = current_task();

	if (!plumb_live || !filter_thread(task) || !filter_entry(task))
		return 0;
	count(bpf_get_smp_processor_id(), executed);
	if (wants_arguments())
		arguments_read(task);
	return 0;
}

/* --- ends --- */

struct life_end {
	__u64 start; /* of the process: later ones have the same address */
	__u32 slot, pad;
};

/* Processes that have ended, by the address of their first thread. */
PLUMB_MAP(life_ended, HASH, LIFE_ENDED, __u64, struct life_end);

#define NO_SLOT ~0U

/*
 * False: another thread that exited at the same time has recorded the process.  Until this one is
 * gone, the kernel does not free the first thread.  What is known of an earlier process at that
 * address was left behind when the program at its end was skipped.
 */
static __always_inline bool is_first(__u64 leader, const struct life_end *end, __u32 cpu)
{
	struct life_end *known = bpf_map_lookup_elem(&life_ended, &leader);

	if (known && known->slot != NO_SLOT) {
		if (known->start == end->start)
			return false;
		count(cpu, unread);
	}
	if (!bpf_map_update_elem(&life_ended, &leader, end, known ? BPF_ANY : BPF_NOEXIST)) {
		count(cpu, kept);
		return true;
	}
	count(cpu, unkept);
	return !bpf_map_lookup_elem(&life_ended, &leader); /* else it was the other's, just now */
}

/* As wait(2) has it. */
static __always_inline __u32 status_of(struct signal_struct *signal, struct task_struct *leader)
{
	if (BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT)
		return BPF_CORE_READ(signal, group_exit_code);
	return BPF_CORE_READ(leader, exit_code);
}

static __always_inline __u32 slot_of(struct task_struct *task, struct task_struct *leader,
				     __u32 status, __u32 cpu)
{
	struct life_key key = {};

	if (plumb_config.by & LIFE_BY_STATUS)
		key.status = status;
	if (plumb_config.by & LIFE_BY_PARENT) {
		BPF_CORE_READ_INTO(&key.parent, leader, real_parent, group_leader, comm);
		name_trim((__u64 *)key.parent, 2);
	}
	if (wants_arguments())
		key.arguments = arguments_of((__u64)leader);
	return key_cpu_slot(task, &key, cpu);
}

SEC("raw_tp/sched_process_exit")
int process_exits(void *ctx __attribute__((unused)))
{
	struct task_struct *task = current_task(), *leader = current_read(task, group_leader);
	struct signal_struct *signal = current_read(task, signal);
	__u32 cpu = bpf_get_smp_processor_id(), status;
	struct life_end end = {};

	if (!plumb_live || current_read(task, flags) & PF_KTHREAD ||
	    BPF_CORE_READ(signal, live.counter) || !filter_thread(task) || !filter_entry(task))
		return 0;
	status = status_of(signal, leader);
	end.start = BPF_CORE_READ(leader, start_time);
	end.slot = slot_of(task, leader, status, cpu);
	if (!is_first((__u64)leader, &end, cpu))
		return 0;
	ledger_count(cpu, began);
	if (end.start < life_began)
		count(cpu, before);
	hist_record(end.slot, cpu, bpf_ktime_get_ns() - end.start, status, false);
	return 0;
}

/* --- CPU time --- */

struct life_times {
	__u64 cpu, user, system;
};

static __always_inline bool is_dead(struct task_struct *task)
{
	long state = bpf_core_field_exists(task->__state)
			     ? BPF_CORE_READ(task, __state)
			     : BPF_CORE_READ((struct task_struct___old *)task, state);

	return state & TASK_DEAD && !sched_is_on_cpu(task);
}

/*
 * Of a process whose threads run no more; false: one does, or the first one is just being reaped.
 * The kernel adds the times of a thread to the sums of its process, and then has one thread less,
 * when it reaps it; all others are reaped before the first one, LEADER.
 */
static __noinline bool read_times(struct life_times *t, struct task_struct *leader)
{
	struct signal_struct *signal = BPF_CORE_READ(leader, signal);
	int threads = BPF_CORE_READ(signal, nr_threads);
	__u64 first = BPF_CORE_READ(leader, se.sum_exec_runtime);

	if (!t || threads > 1 || !is_dead(leader))
		return false;
	t->cpu = BPF_CORE_READ(signal, sum_sched_runtime);
	t->user = BPF_CORE_READ(signal, utime);
	t->system = BPF_CORE_READ(signal, stime);
	if (!threads) { /* if it had no others, that of the first is all, with its last moments */
		t->cpu = t->cpu > first ? t->cpu : first;
		return true;
	}
	t->cpu += first;
	t->user += BPF_CORE_READ(leader, utime);
	t->system += BPF_CORE_READ(leader, stime);
	return BPF_CORE_READ(leader, exit_state) == EXIT_ZOMBIE;
}

/*
 * Adds the CPU time of the process with the first thread LEADER to its row, once: when the kernel
 * frees that thread, or at a report before.  FREED: it cannot be read later.
 */
static __always_inline int add_times(struct task_struct *leader, bool freed)
{
	__u64 id = (__u64)leader;
	__u32 cpu = bpf_get_smp_processor_id(), slot;
	struct life_end *end = bpf_map_lookup_elem(&life_ended, &id);
	struct plumb_totals *totals = NULL;
	struct life_times t = {};
	bool same, read;

	if (!end || end->slot == NO_SLOT)
		return 0;
	/* Of a process whose end was not seen the address may be another's now, or free. */
	same = BPF_CORE_READ(leader, start_time) == end->start &&
	       BPF_CORE_READ(leader, usage.refs.counter);
	read = same && read_times(&t, leader);
	if (same && !read && !freed)
		return 0;
	slot = end->slot;
	end->slot = NO_SLOT; /* a deletion can fail (6.1: the map is busy) */
	if (bpf_map_delete_elem(&life_ended, &id) == -ENOENT) /* it was added just now */
		return 0;
	if (read)
		totals = hist_totals(slot, cpu);
	if (!totals) {
		count(cpu, unread);
		return 0;
	}
	plumb_add(totals->counters[LIFE_CPU], t.cpu);
	plumb_add(totals->counters[LIFE_USER], t.user);
	plumb_add(totals->counters[LIFE_SYSTEM], t.system);
	count(cpu, known);
	return 0;
}

SEC("raw_tp/sched_process_free")
int process_ends(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id = ctx->args[0];

	if (wants_arguments())
		bpf_map_delete_elem(&life_executed, &id);
	return add_times((struct task_struct *)id, true);
}

/* Never attached: before a report the loader runs it for each process of life_ended. */
SEC("raw_tp")
int on_report(struct bpf_raw_tracepoint_args *ctx)
{
	return add_times((struct task_struct *)ctx->args[0], false);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
