/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* numbers: a process with the number of one that has ended. */
#pragma once

#include "workload.h"
#include <linux/sched.h>

/*
 * As fork(); the child's number is NUMBER, which is free a moment after its process or thread was
 * waited for.  Exits with 77 where a number cannot be asked for.
 */
static inline pid_t fork_numbered(pid_t number)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&number,
		.set_tid_size = 1,
	};
	uint64_t deadline = now_ns() + 20000000000ULL;
	pid_t child;

	while ((child = syscall(SYS_clone3, &args, sizeof(args))) < 0) {
		if (errno == EPERM || errno == ENOSYS)
			exit(WORKLOAD_SKIP);
		if (errno != EEXIST || now_ns() > deadline)
			die("clone3: %s", strerror(errno));
		pause_ns(1000000);
	}
	if (child && child != number)
		die("the process of number %d is %d", number, child);
	return child;
}
