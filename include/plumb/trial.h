/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trial: what a tool can provoke itself, as often as it likes, to measure a probe on
 * it: a kernel function, a tracepoint, a user function.
 */
#ifndef PLUMB_TRIAL_H
#define PLUMB_TRIAL_H

#include <plumb/functions.h>
#include <plumb/tracepoints.h>
#include <plumb/userfuncs.h>
#include <stdint.h>

/* The function of system call PLUMB_CALIBRATION_NR, BTF_FILE as for plumb_functions_find(). */
int plumb_trial_find_function(const char *btf_file, struct plumb_functions *found);
void plumb_trial_syscall(void);

/* task:task_rename: the thread gives itself the name that it has. */
int plumb_trial_find_tracepoint(struct plumb_tracepoints *found);
void plumb_trial_rename(void);

/* A function of this program, found in its file. */
int plumb_trial_find_userfunc(struct plumb_userfuncs *found);
void plumb_trial_call(void);

/* ns of one PROVOKE, as it is right now: the fastest of the short loops that BUDGET ns allow. */
double plumb_trial_ns(void (*provoke)(void), uint64_t budget);

#endif
