/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * turns: which threads had a CPU, the latest SCHED_TURNS of each.  So a thread that gets a CPU
 * after it has waited for one can tell who ran there meanwhile, and not only who came first.
 */
#pragma once

#include <plumb/bpf/sched/meanwhile.h>
#include <plumb/bpf/sched/sched-state.bpf.h>

#define SCHED_TURNS 128 /* a power of two */

/* include/linux/sched/prio.h */
#define DEFAULT_PRIO 120 /* that of nice 0 */
#define MAX_RT_PRIO  100

#define SCHED_GROUPS 8 /* that are or were throttled on a CPU, and are watched */

struct sched_turn {
	__u64 ended;    /* ns, CLOCK_MONOTONIC; it began when the one before ended */
	__u32 pid, tid; /* TID 0: the CPU was idle */
	char comm[16];
	__u64 since;           /* if REFILLED: when that was, ns, CLOCK_MONOTONIC */
	__s8 nice;             /* or PLUMB_REALTIME */
	__u8 policy, priority; /* as in struct plumb_meanwhile */
	/* If plumb_config.meanwhile, of sched_turns.groups, a bit for each: */
	__u8 throttled; /* when it ended */
	__u8 refilled;  /* the one that got a quota meanwhile */
	__u8 pad;
	__u16 n_allowed; /* how many CPUs the thread may use */
};
_Static_assert(sizeof(struct sched_turn) == 48, "no hidden padding in a map's value");

/* Written by its CPU only; another one may read it meanwhile. */
struct sched_turns {
	__u64 n;
	struct sched_turn all[SCHED_TURNS];
	/* Those of the scheduler, by address, and their queues of this CPU; 0: none. */
	__u64 groups[SCHED_GROUPS], queues[SCHED_GROUPS];
};

PLUMB_MAP(plumb_turns, ARRAY, 1 /* set by the loader: possible CPUs */, __u32, struct sched_turns);

static __always_inline __s32 sched_nice(struct task_struct *task)
{
	return current_read(task, prio) < MAX_RT_PRIO
		       ? PLUMB_REALTIME
		       : current_read(task, static_prio) - DEFAULT_PRIO;
}

/*
 * Sets of groups have a bit for each.  What follows has next to no branches, each of which would
 * double what the verifier has to look at.
 */
static __always_inline __u32 sched_lowest(__u32 set)
{
	return set & -set;
}

/* The number of the only bit that is set, of 8. */
static __always_inline __u32 sched_number(__u32 bit)
{
	return ((bit >> 1 | bit >> 3 | bit >> 5 | bit >> 7) & 1) |
	       ((bit >> 2 | bit >> 3 | bit >> 6 | bit >> 7) & 1) << 1 |
	       ((bit >> 4 | bit >> 5 | bit >> 6 | bit >> 7) & 1) << 2;
}

/* The group of the only bit that is set. */
static __always_inline __u64 *sched_group_at(struct sched_turns *turns, __u32 bit)
{
	__u64 number = sched_number(bit);

	barrier_var(number); /* the mask is for the verifier of 5.10 */
	return &turns->groups[number & (SCHED_GROUPS - 1)];
}

/* Where GROUP is. */
static __always_inline __u32 sched_set_of(const struct sched_turns *turns, __u64 group)
{
	__u32 i, set = 0;
	__u64 differs;

	for (i = 0; i < SCHED_GROUPS; i++) {
		differs = turns->groups[i] ^ group;
		differs |= -differs;
		barrier_var(differs);
		set |= (__u32)(~differs >> 63) << i;
	}
	return set;
}

/* Whether the group of BIT, which was throttled on CPU, is no longer. */
__noinline int sched_has_quota(__u32 cpu, __u32 number)
{
	struct sched_turns *turns = bpf_map_lookup_elem(&plumb_turns, &cpu);

	return turns && number < SCHED_GROUPS &&
	       !sched_queue_is_throttled(turns->queues[number], turns->groups[number]);
}

/* Which groups are throttled on CPU at the end of the turn of the current thread. */
__noinline int sched_watch_quotas(__u32 cpu)
{
	struct sched_turns *turns = bpf_map_lookup_elem(&plumb_turns, &cpu);
	struct task_struct *task = current_task();
	struct sched_turn *turn, *before;
	__u32 i, bit, set, gone = 0;
	__u64 group, queue = 0, at;

	if (!turns)
		return 0;
	turn = &turns->all[turns->n & (SCHED_TURNS - 1)];
	before = &turns->all[(turns->n - 1) & (SCHED_TURNS - 1)];
	set = before->throttled;
	for (i = 0; set && i < SCHED_GROUPS; i++)
		gone |= (sched_has_quota(cpu, i) & 1) << i;
	bit = sched_lowest(gone & set);
	turn->refilled = bit;
	if (bit) {
		turn->since = sched_group_refilled(*sched_group_at(turns, bit));
		if (turn->since < before->ended || turn->since > turn->ended)
			turn->since = before->ended;
		set &= ~bit;
	}
	group = turn->tid ? sched_throttled_group(task, &queue) : 0;
	if (group) {
		bit = sched_lowest(sched_set_of(turns, group));
		if (!bit)
			bit = sched_lowest(~set & ((1 << SCHED_GROUPS) - 1));
		if (bit) {
			*sched_group_at(turns, bit) = group;
			at = sched_number(bit);
			barrier_var(at);
			turns->queues[at & (SCHED_GROUPS - 1)] = queue;
		}
		set |= bit;
	}
	turn->throttled = set;
	return 0;
}

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
	turn->nice = sched_nice(task);
	turn->policy = current_read(task, policy);
	turn->priority = current_read(task, rt_priority);
	turn->n_allowed = current_read(task, nr_cpus_allowed);
	bpf_get_current_comm(turn->comm, sizeof(turn->comm));
	if (plumb_config.meanwhile)
		sched_watch_quotas(cpu);
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
