/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * statistics: if no call can be triggered, the cost is the kernel's run-time statistics of the
 * programs, during the first STATISTICS_NS of the trace.  Meanwhile each run costs some 20 ns more.
 */
#pragma once

#include <stdbool.h>
#include <plumb/core/run.h>

#define STATISTICS_NS 100000000ULL

/* Callbacks of the part (plumb/core/part.h). */
int statistics_begin(struct plumb_run *run);
bool statistics_are_had_early(const struct plumb_run *run);
void statistics_end(struct plumb_run *run);
