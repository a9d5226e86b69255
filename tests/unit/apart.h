/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* apart: what a function does in a process of its own: it may end it, or change it for good. */
#pragma once

#include "said.h"
#include <sys/wait.h>

/* What it said on stderr since apart() was called last. */
static const char *complaint __attribute__((unused));

/* The exit status: what F returns, or exits with; -SIGNAL: it was killed. */
static inline int apart(int (*f)(void))
{
	pid_t child;
	int status;

	fflush(NULL);
	listen_to_stderr();
	child = fork();
	if (!child) {
		status = f();
		exit(status);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	complaint = said();
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}
