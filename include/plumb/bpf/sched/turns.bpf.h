/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * turns: which threads had a CPU, the latest SCHED_TURNS of each.  So a thread that gets a CPU
 * after it has waited for one can tell who ran there meanwhile, and not only who came first.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>

#define SCHED_TURNS 64 /* a power of two */

/* include/linux/sched/prio.h */
#define DEFAULT_PRIO 120 /* that of nice 0 */
#define MAX_RT_PRIO  100

#define SCHED_REALTIME (-100) /* sched_turn.nice of a policy that is not a fair one */

struct sched_turn {
	__u64 ended;    /* ns, CLOCK_MONOTONIC; it began when the one before ended */
	__u32 pid, tid; /* TID 0: the CPU was idle */
	__s32 nice;
	__u32 pad;
	char comm[16];
};

/* Written by its CPU only; another one may read it meanwhile. */
struct sched_turns {
	__u64 n;
	struct sched_turn all[SCHED_TURNS];
};

PLUMB_MAP(plumb_turns, ARRAY, 1 /* set by the loader: possible CPUs */, __u32, struct sched_turns);

/* The current thread leaves CPU. */
static __always_inline void sched_turn_ends(struct task_struct *task, __u32 cpu, __u64 now)
{
	struct sched_turns *turns = bpf_map_lookup_elem(&plumb_turns, &cpu);
	struct sched_turn *turn;

	if (!turns)
		return;
	turn = &turns->all[turns->n & (SCHED_TURNS - 1)];
	turn->ended = now;
	turn->pid = current_pid(task);
	turn->tid = current_host_tid(task) ? current_tid(task) : 0;
	turn->nice = current_read(task, prio) < MAX_RT_PRIO
			     ? SCHED_REALTIME
			     : current_read(task, static_prio) - DEFAULT_PRIO;
	bpf_get_current_comm(turn->comm, sizeof(turn->comm));
	turns->n++;
}

/*
 * The number of the longest turn on CPU between FROM and TO, in its map; -1: none is known.  A
 * global function is verified only once.
 */
__noinline int sched_longest_turn(__u32 cpu, __u64 from, __u64 to)
{
	struct sched_turns *turns = bpf_map_lookup_elem(&plumb_turns, &cpu);
	__u64 ended, began, longest = 0;
	int found = -1;
	__u32 i, at;

	if (!turns)
		return -1;
	for (i = 0; i < SCHED_TURNS - 1; i++) {
		at = (turns->n - 1 - i) & (SCHED_TURNS - 1);
		ended = turns->all[at].ended;
		began = turns->all[(at - 1) & (SCHED_TURNS - 1)].ended;
		if (ended <= from || !began || began > ended)
			break;
		if (ended > to)
			ended = to;
		if (began < from)
			began = from;
		if (ended > began && ended - began > longest) {
			longest = ended - began;
			found = at;
		}
	}
	return found;
}
