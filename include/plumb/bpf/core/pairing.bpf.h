/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pairing: whether the end of a call belongs to the beginning that was seen at its place.
 *
 * The kernel skips a program of fentry's kind on a CPU as long as it is inside there: because an
 * interrupt has come upon it or, on a preemptible kernel, because the thread that runs it was
 * preempted.  A call whose end is skipped leaves its start behind, and if the beginning of the next
 * call at that place is skipped as well, the end of that call finds the start of the other: a
 * latency that no call had.  Nothing in the call itself tells the two apart.
 *
 * An interrupt's calls are told by the program of beginnings, which says on its CPU that it is
 * inside.  A preempted program is inside while its thread, which cannot leave that CPU, waits for
 * it: so a thread that gets the CPU meanwhile is marked, with the time.  A start that is older than
 * that mark may not be that of the call.
 */
#ifndef PLUMB_PAIRING_BPF_H
#define PLUMB_PAIRING_BPF_H

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/function/function.h>
#include <plumb/bpf/core/ledger.bpf.h>

/* Copies of a program for several functions that are told apart; each is skipped for itself. */
#define PAIRING_COPY_BITS 6

/* Is the program of beginnings inside, by copy and CPU? */
static __u32 pairing_inside[PLUMB_LEDGERS << PAIRING_COPY_BITS] = {};

static __always_inline volatile __u32 *pairing_at(__u64 target, __u32 cpu)
{
	__u32 copy = PLUMB_TARGET_INDEX(target) & ((1 << PAIRING_COPY_BITS) - 1);

	return &pairing_inside[ledger_index(cpu, copy, PAIRING_COPY_BITS)];
}

/* Threads by the lower bits of their tid; those that share a mark are doubted together. */
#define PAIRING_THREADS (1 << 14)

static __u64 pairing_marks[PAIRING_THREADS] = {}; /* ns, CLOCK_MONOTONIC */
static __u32 pairing_waits[PAIRING_THREADS] = {}; /* its tid, if it is counted in the next */
static __u32 pairing_waiting[PLUMB_LEDGERS] = {}; /* such threads on each CPU */

/* What the program that looks at it adds to migration_disabled: the least that was seen. */
static __u32 pairing_own = 1U << 31;

/* May the thread that gives its CPU away be inside of a program, with which it could not migrate?
 */
static __always_inline bool pairing_may_be_inside(struct task_struct *task)
{
	__u32 disabled;

	if (!bpf_core_field_exists(task->migration_disabled))
		return true;
	disabled = BPF_CORE_READ(task, migration_disabled);
	if (disabled < pairing_own)
		pairing_own = disabled;
	return disabled > pairing_own;
}

static __always_inline void pairing_switched(struct task_struct *leaves, struct task_struct *comes)
{
	__u32 cpu = bpf_get_smp_processor_id() & (PLUMB_LEDGERS - 1), tid;

	tid = BPF_CORE_READ(leaves, pid);
	if (tid && pairing_may_be_inside(leaves)) {
		pairing_waits[tid & (PAIRING_THREADS - 1)] = tid;
		pairing_waiting[cpu]++;
	}
	tid = BPF_CORE_READ(comes, pid);
	if (tid && pairing_waits[tid & (PAIRING_THREADS - 1)] == tid) {
		pairing_waits[tid & (PAIRING_THREADS - 1)] = 0;
		pairing_waiting[cpu]--;
	}
	if (pairing_waiting[cpu])
		pairing_marks[tid & (PAIRING_THREADS - 1)] = bpf_ktime_get_ns();
}

/* Loaded where the programs that see the two ends can be preempted. */
SEC("raw_tp/sched_switch")
int thread_preempted(struct bpf_raw_tracepoint_args *ctx)
{
	pairing_switched((struct task_struct *)ctx->args[1], (struct task_struct *)ctx->args[2]);
	return 0;
}

/* May the thread have begun a call after START that was not seen? */
static __always_inline bool pairing_is_marked(struct task_struct *task, __u64 start)
{
	return plumb_config.preemptible &&
	       pairing_marks[current_tid(task) & (PAIRING_THREADS - 1)] > start;
}

enum pairing { PAIRING_CERTAIN, PAIRING_DOUBTFUL, PAIRING_SKIPPED };

/* What the end of a call of TARGET, on CPU, has to do with START; SKIPPED: nothing. */
static __always_inline enum pairing pairing_judge(__u64 target, __u64 start,
						  struct task_struct *task, __u32 cpu)
{
	bool inside = *pairing_at(target, cpu);

	if (plumb_config.preemptible)
		return inside || pairing_is_marked(task, start) ? PAIRING_DOUBTFUL
								: PAIRING_CERTAIN;
	return unlikely(inside) ? PAIRING_SKIPPED : PAIRING_CERTAIN;
}

#endif
