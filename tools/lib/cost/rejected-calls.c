/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rejected-calls.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <plumb/core/filter.h>
#include <plumb/syscalls/selection.h>
#include <plumb/syscalls/syscalls.h>

#define STACK_SIZE (64 << 10)

struct work {
	struct plumb_self_test *self_test;
	uint64_t budget;
};

/* Whether a filter rejects a new process that has the tool's name. */
static bool is_rejected(const struct plumb_run *run)
{
	const struct plumb_options *o = &run->options;

	return o->n_pids || o->n_tids || run->child ||
	       (run->tool->options.selection && run->tool->options.selection->selected &&
		!plumb_syscall_is_selected(run->tool->options.selection, PLUMB_CALIBRATION_NR)) ||
	       ((o->n_comms || o->globs.n) && !plumb_filter_takes_own_name(o));
}

static int make_calls(void *context)
{
	const struct work *work = context;

	plumb_self_test_run(work->self_test, plumb_self_test_syscall, work->budget);
	return 0;
}

void plumb_rejected_calls_run(const struct plumb_run *run, struct plumb_self_test *self_test,
			      uint64_t budget)
{
	struct work work = {self_test, budget};
	char *stack = MAP_FAILED;
	pid_t pid = -1;

	if (is_rejected(run))
		stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	/*
	 * It shares the tool's memory, the tool waits until it has exited, and no signal reports
	 * that.
	 */
	if (stack != MAP_FAILED)
		pid = clone(make_calls, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK, &work);
	if (pid < 0)
		plumb_self_test_run(self_test, plumb_self_test_syscall, budget);
	else
		while (waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
			;
	if (stack != MAP_FAILED)
		munmap(stack, STACK_SIZE);
}
