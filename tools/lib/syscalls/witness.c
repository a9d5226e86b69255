/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* witness: system calls that begin, as perf events count them. */
#include <stdio.h>
#include <plumb/core/run.h>
#include <plumb/syscalls/syscall-options.h>
#include <plumb/witness/witness.h>

#define MAX_CALLS 16

/* The tracepoint of all calls has a number that does not tell 32-bit calls from others. */
static const char *open_named(const struct plumb_run *run)
{
	const char *name, *why = NULL;
	char event[80];
	int n = 0;

	for (uint32_t nr = 0; nr < PLUMB_SYSCALLS && !why; nr++) {
		if (plumb_syscall_is_selected(&plumb_syscall_selection, nr, PLUMB_ABI_COMPAT))
			return "no perf event counts 32-bit calls of a name";
		if (!plumb_syscall_is_selected(&plumb_syscall_selection, nr, PLUMB_ABI_NATIVE))
			continue;
		name = plumb_syscall_known(nr, PLUMB_ABI_NATIVE);
		if (!name || n++ == MAX_CALLS)
			return "too many calls, or calls without a name, are selected";
		snprintf(event, sizeof(event), "sys_enter_%s", name);
		why = plumb_witness_tracepoint(run, "syscalls", event, NULL);
	}
	return why;
}

static const char *open_events(const struct plumb_run *run)
{
	const struct syscall_config *s = &plumb_syscall_selection;

	if (s->has_fd || s->has_size)
		return "no perf event counts calls by their arguments";
	if (s->others_but || s->n_others)
		return "no perf event counts all calls but some, or those without a name";
	return s->selected ? open_named(run)
			   : plumb_witness_tracepoint(run, "raw_syscalls", "sys_enter", NULL);
}

/* A tool that only counts calls and their errors has them in its rows when they begin. */
static uint64_t seen(const struct plumb_run *run)
{
	return run->tool->measure.kind == PLUMB_COUNTS && run->tool->measure.errors &&
			       !(run->options.by & PLUMB_BY_ERRNO)
		       ? plumb_witness_recorded(run)
		       : plumb_witness_began(run);
}

const struct plumb_witness plumb_syscall_witness = {
	.source = "perf events at their entry",
	.open = open_events,
	.count = plumb_witness_events,
	.own = plumb_witness_own_events,
	.seen = seen,
};
