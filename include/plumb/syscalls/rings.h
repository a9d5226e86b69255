/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rings: io_uring in traced processes, whose requests are not system calls. */
#ifndef PLUMB_RINGS_H
#define PLUMB_RINGS_H

#include <plumb/core/run.h>

/*
 * The most rings that the processes of -p, -t and of the command have had at one time; -1: nobody
 * looked, as there were no such processes (any more).  Looks at most once in a second.
 */
int64_t plumb_rings_count(const struct plumb_run *run);

#endif
