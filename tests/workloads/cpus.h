/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cpus: the CPU on which a thread runs, and its priority. */
#pragma once

#include "workload.h"
#include <sched.h>

/* The last two allowed CPUs, since interrupts favour the low ones.  False: there is only one. */
static inline bool last_two_cpus(int *last, int *before)
{
	cpu_set_t allowed;
	int cpu = CPU_SETSIZE;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		die("sched_getaffinity: %s", strerror(errno));
	while (!CPU_ISSET(--cpu, &allowed))
		;
	*last = cpu;
	if (CPU_COUNT(&allowed) == 1)
		return false;
	while (!CPU_ISSET(--cpu, &allowed))
		;
	*before = cpu;
	return true;
}

/* THREAD of 0: the current one. */
static inline void pin(pid_t thread, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(thread, sizeof(one), &one))
		die("sched_setaffinity: %s", strerror(errno));
}

static inline int pin_to_last_cpu(void)
{
	int last, before;

	last_two_cpus(&last, &before);
	pin(0, last);
	return last;
}

static inline bool become_realtime(int priority)
{
	return !sched_setscheduler(0, SCHED_FIFO,
				   &(struct sched_param){.sched_priority = priority});
}

static inline void leave_realtime(void)
{
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){});
}
