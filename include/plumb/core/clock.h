/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clock: the clock that BPF programs read by bpf_ktime_get_ns(). */
#pragma once

#include <stdint.h>
#include <time.h>

#define PLUMB_SECOND 1000000000ULL /* ns */

/* ns, CLOCK_MONOTONIC. */
static inline uint64_t plumb_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * PLUMB_SECOND + t.tv_nsec;
}

/* CPU time of this thread, ns: elapsed time would include that of others. */
static inline uint64_t plumb_cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * PLUMB_SECOND + t.tv_nsec;
}

/* The earlier of two times; 0 means never. */
static inline uint64_t plumb_sooner(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/*
 * The ns from CLOCK_MONOTONIC to the wall clock.  The same value until that clock is set, so that
 * times keep their order.
 */
uint64_t plumb_wall_clock(void);

/* ns since 1970, CLOCK_REALTIME. */
uint64_t plumb_wall_now(void);
