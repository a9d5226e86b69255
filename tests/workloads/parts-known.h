/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * parts-known: bounds of the parts of a call's time, by clocks, the kernel's counts and the other
 * threads.
 *
 *	must	lower bounds.  While the holder held the CPU, the call was preempted, or on the run
 *		queue if it had been woken.  It was asleep from when that was seen until its
 *		partner began to wake it.
 *	holder	lower bound of what the holder itself ran in these times: a starved thread of the
 *		ordinary policy gets 5 % of a CPU that SCHED_FIFO threads keep busy.
 *	can	upper bounds.  No wait for a CPU begins before the partner's waking call.  No sleep
 *		goes on after that call if it was made on the same CPU (0: it was not).  Time off
 *		the CPU is at most the time around the call less the thread's CPU time
 *		(CLOCK_THREAD_CPUTIME_ID).
 *	mostly	number of calls of which such a part was certainly more than half.
 *	switches  the kernel's counts for the thread (getrusage).  If involuntary is 0, no call was
 *		preempted; if voluntary is 0, none was asleep.
 */
#pragma once

#include "workload.h"

struct call {
	uint64_t before, after, cpu_before, cpu_after; /* ns, around it */
	long sleeps;                                   /* of the thread, before it */
	long voluntary, involuntary;                   /* switches, around it */
	uint64_t asleep, waking, woken; /* by its partner: seen asleep; wakeup began, ended */
	uint64_t held, released;        /* when the holder took and released the CPU */
	uint64_t held_cpu;              /* what the holder ran between */
	bool computing;                 /* the call was in progress while the CPU was held */
};

enum kind { PREEMPTED, BLOCKED, RUNQ, ON_CPU, MIXED, KINDS };

struct known {
	uint64_t sum, off, must[3], holder, can[2], mostly[3];
	long voluntary, involuntary;
};
enum { IS_PREEMPTED, IS_BLOCKED, IS_RUNQ };

static void must(struct known *k, int part, const struct call *c, uint64_t from, uint64_t to)
{
	if (to < from)
		return;
	k->must[part] += to - from;
	/* 51 %: certainly more than half, by any clock. */
	k->mostly[part] += (to - from) * 100 > (c->after - c->before) * 51;
}

/* The same, of a time in which the holder ran but for what it was off the CPU. */
static void must_hold(struct known *k, int part, const struct call *c, uint64_t from)
{
	const uint64_t span = c->released - c->held, to = c->released;
	const uint64_t off = span > c->held_cpu ? span - c->held_cpu : 0;

	must(k, part, c, from, to);
	if (to > from + off)
		k->holder += to - from - off;
}

static void add_up(struct known *k, const struct call *c, enum kind kind)
{
	k->sum += c->after - c->before;
	k->off += c->after - c->before - (c->cpu_after - c->cpu_before);
	k->voluntary += c->voluntary;
	k->involuntary += c->involuntary;
	if (kind != RUNQ && c->computing)
		must_hold(k, IS_PREEMPTED, c, c->held);
	if (!c->woken)
		return;
	k->can[1] += c->after - c->waking;
	/* If it is woken from another CPU, it may sleep a little longer. */
	if (kind == RUNQ)
		k->can[0] += c->woken - c->before;
	if (c->voluntary != 1) /* it slept twice */
		return;
	must(k, IS_BLOCKED, c, c->asleep, c->waking);
	if (kind == RUNQ)
		must_hold(k, IS_RUNQ, c, c->woken);
}

static void put_three(const char *name, const uint64_t v[3])
{
	put(",\"%s\":{\"preempted\":%llu,\"blocked\":%llu,\"runq\":%llu}", name,
	    (unsigned long long)v[0], (unsigned long long)v[1], (unsigned long long)v[2]);
}
