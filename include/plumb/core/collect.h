/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* collect: reads what an attached instance has counted. */
#pragma once

struct plumb_run;
struct plumb_snapshot;

/* Reads the run's maps and the number of executions that the kernel missed; 0 or -errno. */
int plumb_collect(const struct plumb_run *run, struct plumb_snapshot *snap);
