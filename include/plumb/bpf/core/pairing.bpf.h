/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pairing: whether the exit of a call belongs to the entry that was recorded at its place.
 *
 * The kernel skips an fentry or fexit program on a CPU while the program already runs there:
 * because an interrupt arrived in it or, on a preemptible kernel, because the thread that runs it
 * was preempted. A call whose exit is skipped leaves its start behind. If the entry of the next
 * call at that place is skipped as well, the exit of that call finds the start of the other call: a
 * latency that no call had. Nothing in the call itself distinguishes the two.
 *
 * Calls in interrupts are detected by the entry program, which sets a flag on its CPU while it
 * runs. A preempted program keeps running while its thread, which cannot leave that CPU, waits for
 * it: so a thread that gets the CPU meanwhile is marked, with the time. A start that is older than
 * that mark may not be that of the call.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/function/function.h>
#include <plumb/bpf/core/ledger.bpf.h>

/* Copies of a program, one per function; the kernel skips each copy separately. */
#define PAIRING_COPY_BITS 6

/* Whether the entry program runs, by copy and CPU. */
static __u32 pairing_inside[PLUMB_LEDGERS << PAIRING_COPY_BITS] = {};

static __always_inline volatile __u32 *pairing_at(__u64 target, __u32 cpu)
{
	__u32 copy = PLUMB_TARGET_INDEX(target) & ((1 << PAIRING_COPY_BITS) - 1);

	return &pairing_inside[ledger_index(cpu, copy, PAIRING_COPY_BITS)];
}

/*
 * Threads, by the lower bits of their tid; if one of those that share a mark is doubtful, all are.
 */
#define PAIRING_THREADS (1 << 14)

static __u64 pairing_marks[PAIRING_THREADS] = {}; /* ns, CLOCK_MONOTONIC */
static __u32 pairing_waits[PAIRING_THREADS] = {}; /* its tid, if the next array counts it */
static __u32 pairing_waiting[PLUMB_LEDGERS] = {}; /* such threads on each CPU */

/* What the program that reads it adds to migration_disabled: the lowest value seen. */
static __u32 pairing_own = 1U << 31;

/*
 * Whether the thread that gives its CPU away may be inside a program, in which it cannot migrate.
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

/* Loaded if the programs at entry and exit can be preempted. */
SEC("raw_tp/sched_switch")
int thread_preempted(struct bpf_raw_tracepoint_args *ctx)
{
	pairing_switched((struct task_struct *)ctx->args[1], (struct task_struct *)ctx->args[2]);
	return 0;
}

/* Whether the thread may have begun a call after START whose entry was missed. */
static __always_inline bool pairing_is_marked(struct task_struct *task, __u64 start)
{
	return plumb_config.preemptible &&
	       pairing_marks[current_host_tid(task) & (PAIRING_THREADS - 1)] > start;
}

enum pairing { PAIRING_CERTAIN, PAIRING_DOUBTFUL, PAIRING_SKIPPED };

/*
 * The relation between the exit of a call of TARGET, on CPU, and START; SKIPPED: they do not belong
 * together.
 */
static __always_inline enum pairing pairing_judge(__u64 target, __u64 start,
						  struct task_struct *task, __u32 cpu)
{
	bool inside = *pairing_at(target, cpu);

	if (plumb_config.preemptible)
		return inside || pairing_is_marked(task, start) ? PAIRING_DOUBTFUL
								: PAIRING_CERTAIN;
	return unlikely(inside) ? PAIRING_SKIPPED : PAIRING_CERTAIN;
}
