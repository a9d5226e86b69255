/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * self-test: what a tool can trigger itself, as often as it likes, to measure a probe on
 * it: a kernel function, a tracepoint, a user function.
 */
#ifndef PLUMB_SELF_TEST_H
#define PLUMB_SELF_TEST_H

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

/* Said before functions are looked for, it spares the next its own reading of the lists. */
void plumb_self_test_keep_function(void);
/* The function of system call PLUMB_CALIBRATION_NR, BTF_FILE as for plumb_functions_find(). */
int plumb_self_test_find_function(const char *btf_file, struct plumb_functions *found);
/* That call, made so that it fails: --errors counts it too. */
void plumb_self_test_syscall(void);

/* task:task_rename: the thread gives itself the name that it has. */
int plumb_self_test_find_tracepoint(struct plumb_tracepoints *found);
void plumb_self_test_rename(void);

/* A function of this program, found in its file. */
int plumb_self_test_find_userfunc(struct plumb_userfuncs *found);
void plumb_self_test_call(void);

/* ns of one TRIGGER, as it is right now: the fastest of the short loops that BUDGET ns allow. */
double plumb_self_test_ns(void (*trigger)(void), uint64_t budget);

/*
 * The same with an interval, for comparing what the host does at different times: many
 * short loops, each beside a loop of arithmetic.  What slows the CPU slows both, so a
 * call is measured in loops of arithmetic, and these become ns by UNIT, which one takes.
 */
#define PLUMB_SELF_TEST_LOOPS 32

struct plumb_self_test {
	double call[PLUMB_SELF_TEST_LOOPS], arithmetic[PLUMB_SELF_TEST_LOOPS]; /* ns of one */
	size_t n;
};

void plumb_self_test_run(struct plumb_self_test *t, void (*trigger)(void), uint64_t budget);
/* ns of a loop of arithmetic in this self-test: the UNIT of those that are compared with it. */
double plumb_self_test_unit(const struct plumb_self_test *t);
struct plumb_interval plumb_self_test_interval(const struct plumb_self_test *t, double unit);

#endif
