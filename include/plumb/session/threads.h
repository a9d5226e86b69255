/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* threads: those of the running system that the filters let pass. */
#ifndef PLUMB_THREADS_H
#define PLUMB_THREADS_H

#include <plumb/kernel/thread.h>
#include <plumb/session/session.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Calls EACH for the threads of the processes, thread ids and cgroups that are asked for, of the
 * command's descendants, or of all processes but this one; the filter by name is
 * plumb_thread_is_named()'s.  False where DEADLINE (ns, CLOCK_MONOTONIC) came first.
 */
bool plumb_threads_each(const struct plumb_session *s, uint64_t deadline,
			void (*each)(void *context, uint32_t pid, uint32_t tid), void *context);

/* Has it a name that is asked for? */
bool plumb_thread_is_named(const struct plumb_options *o, uint32_t pid, uint32_t tid);

#endif
