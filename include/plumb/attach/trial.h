/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trial: what a tool can provoke itself, as often as it likes, to measure a probe on
 * it: a kernel function, a tracepoint, a user function.
 */
#ifndef PLUMB_TRIAL_H
#define PLUMB_TRIAL_H

#include <asm/unistd.h>
#include <plumb/base/bootstrap.h>
#include <plumb/kernel/functions.h>
#include <plumb/kernel/tracepoints.h>
#include <plumb/elf/userfuncs.h>
#include <stdint.h>

/*
 * The system call that the calibration makes: next to nothing happens in it, it
 * has no effect, and, unlike getppid(), its function has an argument, without
 * which BTF does not know it (kernel-side it is an alias).
 */
#define PLUMB_CALIBRATION_NR __NR_sched_get_priority_max

/* The function of system call PLUMB_CALIBRATION_NR, BTF_FILE as for plumb_functions_find(). */
int plumb_trial_find_function(const char *btf_file, struct plumb_functions *found);
/* That call, made so that it fails: --errors counts it too. */
void plumb_trial_syscall(void);

/* task:task_rename: the thread gives itself the name that it has. */
int plumb_trial_find_tracepoint(struct plumb_tracepoints *found);
void plumb_trial_rename(void);

/* A function of this program, found in its file. */
int plumb_trial_find_userfunc(struct plumb_userfuncs *found);
void plumb_trial_call(void);

/* ns of one PROVOKE, as it is right now: the fastest of the short loops that BUDGET ns allow. */
double plumb_trial_ns(void (*provoke)(void), uint64_t budget);

/*
 * The same with an interval, for comparing what the host does at different times: many
 * short loops, each beside a loop of arithmetic.  What slows the CPU slows both, so a
 * call is measured in loops of arithmetic, and these become ns by UNIT, which one takes.
 */
#define PLUMB_TRIAL_LOOPS 32

struct plumb_trial {
	double call[PLUMB_TRIAL_LOOPS], arithmetic[PLUMB_TRIAL_LOOPS]; /* ns of one */
	size_t n;
};

void plumb_trial_run(struct plumb_trial *t, void (*provoke)(void), uint64_t budget);
/* ns of a loop of arithmetic in this trial: the UNIT of those that are compared with it. */
double plumb_trial_unit(const struct plumb_trial *t);
struct plumb_interval plumb_trial_interval(const struct plumb_trial *t, double unit);

#endif
