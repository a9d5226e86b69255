/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sideband: what the kernel reports of all processes as perf(1) has it: forks, programs that are
 * executed, code that is mapped, ends. */
#pragma once

#include <linux/perf_event.h>

struct plumb_sideband;

/* Opens an event on each CPU that is online; NULL: the kernel refuses.  Owned by the caller. */
struct plumb_sideband *plumb_sideband_open(void);
void plumb_sideband_free(struct plumb_sideband *s);
/* Calls EACH for every record since the last call, in their order by time. */
void plumb_sideband_take(struct plumb_sideband *s,
			 void (*each)(void *context, const struct perf_event_header *h),
			 void *context);
