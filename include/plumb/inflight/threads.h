/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* threads: the existing threads that the filters accept. */
#ifndef PLUMB_THREADS_H
#define PLUMB_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <plumb/core/run.h>
#include <plumb/kernel/thread.h>

/*
 * Calls EACH for each thread that the filters by process, thread, cgroup and command accept, except
 * those of this process.  Names are not checked: see plumb_thread_is_named().  Returns false if
 * DEADLINE (ns, CLOCK_MONOTONIC) passed before all threads were visited.
 */
bool plumb_threads_each(const struct plumb_run *run, uint64_t deadline,
			void (*each)(void *context, uint32_t pid, uint32_t tid), void *context);

/* Returns whether --comm accepts the thread's name; true without --comm. */
bool plumb_thread_is_named(const struct plumb_options *o, uint32_t pid, uint32_t tid);

#endif
