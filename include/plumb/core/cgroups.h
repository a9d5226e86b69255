/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cgroups: those of -g, which are traced under their path, also if they are made again. */
#pragma once

#include <plumb/core/run.h>

/* Begins to watch the cgroups, for plumb_filter_resolve(), which has just opened them. */
void plumb_cgroups_watch(struct plumb_run *run);
/* Readable when one may have gone or come; -1: there is none, or it is only looked at at times. */
int plumb_cgroups_fd(void);
/*
 * Takes in those that were made again: before the trace begins, when the descriptor is readable,
 * and each second.
 */
void plumb_cgroups_look(struct plumb_run *run);
