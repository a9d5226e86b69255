/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * parts-known: what the clock, the kernel's counts and the threads around it know of a call.
 *
 *	must	what was seen to be so by the clock: the call was inside while the
 *		holder held the CPU (preempted, or on the run queue if it had been woken);
 *		it was asleep from when that was seen until its partner began to wake it.
 *	can	no wait for a CPU begins before the partner's waking call, no sleep goes on after
 *		it if it was made on the same CPU (0: it was not); and what was off the
 *		CPU is no more than the time around the call less the thread's CPU time
 *		(CLOCK_THREAD_CPUTIME_ID).
 *	mostly	calls of which such a part was certainly more than half.
 *	switches  what the kernel counted for the thread (getrusage): where that is 0
 *		nothing can have been preempted, or asleep.
 */
#ifndef PARTS_KNOWN_H
#define PARTS_KNOWN_H

#include "workload.h"

struct call {
	uint64_t before, after, cpu_before, cpu_after; /* ns, around it */
	long sleeps;                                   /* of the thread, until then */
	long voluntary, involuntary;                   /* switches, around it */
	uint64_t asleep, waking, woken; /* what its partner saw: asleep since, woken between */
	uint64_t held, released;        /* when the holder had its CPU */
	bool computing;                 /* ... in the midst of the call */
};

enum kind { PREEMPTED, BLOCKED, RUNQ, ON_CPU, MIXED, KINDS };

struct known {
	uint64_t sum, off, must[3], can[2], mostly[3];
	long voluntary, involuntary;
};
enum { IS_PREEMPTED, IS_BLOCKED, IS_RUNQ };

static void must(struct known *k, int part, const struct call *c, uint64_t from, uint64_t to)
{
	if (to < from)
		return;
	k->must[part] += to - from;
	/* More than half, by whatever clock. */
	k->mostly[part] += (to - from) * 100 > (c->after - c->before) * 51;
}

static void add_up(struct known *k, const struct call *c, enum kind kind)
{
	k->sum += c->after - c->before;
	k->off += c->after - c->before - (c->cpu_after - c->cpu_before);
	k->voluntary += c->voluntary;
	k->involuntary += c->involuntary;
	if (kind != RUNQ && c->computing)
		must(k, IS_PREEMPTED, c, c->held, c->released);
	if (!c->woken)
		return;
	k->can[1] += c->after - c->waking;
	/* Woken from another CPU it may sleep a little longer. */
	if (kind == RUNQ)
		k->can[0] += c->woken - c->before;
	if (c->voluntary != 1) /* it slept twice */
		return;
	must(k, IS_BLOCKED, c, c->asleep, c->waking);
	if (kind == RUNQ)
		must(k, IS_RUNQ, c, c->woken, c->released);
}

static void put_three(const char *name, const uint64_t v[3])
{
	put(",\"%s\":{\"preempted\":%llu,\"blocked\":%llu,\"runq\":%llu}", name,
	    (unsigned long long)v[0], (unsigned long long)v[1], (unsigned long long)v[2]);
}

#endif
