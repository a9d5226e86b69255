/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * self-test: a kernel function, a tracepoint and a user function that a tool can fire itself
 * at any rate, to measure the cost of a probe on them.
 */
#pragma once

#include <asm/unistd.h>
#include <stdint.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/tracepoints.h>
#include <plumb/syscalls/syscalls.h>
#include <plumb/user/bootstrap.h>
#include <plumb/user/userfuncs.h>

/* Called before a search for functions, which then also keeps the calibration's function. */
void plumb_self_test_keep_function(void);
/* The function of system call PLUMB_CALIBRATION_NR, BTF_FILE as for plumb_functions_find(). */
int plumb_self_test_find_function(const char *btf_file, struct plumb_functions *found);
/* Makes that call with an invalid argument: it fails, so that --errors counts it. */
void plumb_self_test_syscall(void);

/* task:task_rename, fired by setting the thread's name to the same value. */
int plumb_self_test_find_tracepoint(struct plumb_tracepoints *found);
void plumb_self_test_rename(void);

/*
 * Functions of this program that do nothing.  At a uprobe the kernel emulates the first
 * instruction of the first one, and single-steps that of the other one.
 */
void plumb_self_test_call(void);
void plumb_self_test_call_stepped(void);
/* Finds one of them in its file. */
int plumb_self_test_find_userfunc(void (*function)(void), struct plumb_userfuncs *found);

/* The current time of one TRIGGER in ns: the fastest of the short loops that fit in BUDGET ns. */
double plumb_self_test_ns(void (*trigger)(void), uint64_t budget);

/*
 * The same with an interval, for comparing measurements at different times: many short
 * loops, each next to an arithmetic loop.  A change of the CPU's speed affects both, so the
 * time of a call is expressed in arithmetic loops, and converted to ns by UNIT, the ns of one.
 */
#define PLUMB_SELF_TEST_LOOPS 32

struct plumb_self_test {
	double call[PLUMB_SELF_TEST_LOOPS], arithmetic[PLUMB_SELF_TEST_LOOPS]; /* ns of one */
	size_t n;
};

void plumb_self_test_run(struct plumb_self_test *t, void (*trigger)(void), uint64_t budget);
/* ns of an arithmetic loop in this self-test: the UNIT for all that are compared with it. */
double plumb_self_test_unit(const struct plumb_self_test *t);
struct plumb_interval plumb_self_test_interval(const struct plumb_self_test *t, double unit);
