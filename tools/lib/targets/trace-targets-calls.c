/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trace targets: tracepoints of single system calls (syscalls:sys_enter_read), if they are many.
 * The kernel takes some 0.1 s to remove the perf event of each.  So two programs, on
 * raw_syscalls:sys_enter and sys_exit, distinguish them by the call's number.  As these run at
 * every system call of the host, a few targets keep their events, if these miss no calls.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/functions/probe.h>
#include <plumb/kernel/kernel.h>
#include <plumb/syscalls/syscalls.h>
#include <plumb/targets/trace-targets.h>

#define FEW_CALLS 10

/* Finds the two tracepoints by direction: first sys_enter, then sys_exit. */
static int find_raw_syscalls(struct plumb_tracepoints *found)
{
	int tracefs = plumb_tracefs_open(), err;
	struct plumb_tracepoint first;

	if (tracefs < 0)
		return tracefs;
	err = plumb_tracepoints_find(tracefs, "raw_syscalls:sys_*", found);
	close(tracefs);
	if (!err && found->n != PLUMB_DIRECTIONS)
		return plumb_error(ENOENT,
				   "tracepoints raw_syscalls:sys_enter and sys_exit not found");
	if (err || strcmp(found->list[0].name, found->list[1].name) < 0)
		return err;
	first = found->list[1];
	found->list[1] = found->list[0];
	found->list[0] = first;
	return 0;
}

/* The target syscalls:DIRECTION_FUNCTION; NULL: there is none. */
static struct plumb_tracepoint *find_call(const struct plumb_tracepoints *t, const char *direction,
					  const char *function)
{
	char name[128];

	snprintf(name, sizeof(name), "%s_%s", direction, function);
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->list[i].name, name) && !strcmp(t->list[i].category, "syscalls"))
			return &t->list[i];
	return NULL;
}

static void number_direction(size_t direction, const struct plumb_tracepoint *raw)
{
	const struct plumb_targets *t = &plumb_trace_targets.targets;
	struct plumb_tracepoint *one;
	char function[64];

	for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++) {
		/* The tracepoint is named after the function: newstat. */
		plumb_syscall_function(nr, function, sizeof(function));
		one = find_call(&t->tracepoints, raw->name, strstr(function, "_sys_") + 5);
		if (!one)
			continue;
		one->by_number = true;
		one->is_raw = raw->is_raw;
		plumb_trace_targets.calls[direction][nr] =
			t->functions.n + (one - t->tracepoints.list) + 1;
	}
}

/*
 * Whether these targets are distinguished by number: if they are many, or if their events miss
 * calls.  On preemptible kernels from 7.0 on, the programs of single calls' events are skipped
 * while another thread is preempted in them; those of raw_syscalls are not.
 */
static bool are_for_numbers(const struct plumb_tracepoints *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += !strcmp(t->list[i].category, "syscalls");
	return n > FEW_CALLS || (n && plumb_raw_tracepoints_can_be_preempted());
}

int plumb_trace_targets_number_calls(void)
{
	struct plumb_tracepoints *raw = &plumb_trace_targets.raw_syscalls;
	int err;

	if (!are_for_numbers(&plumb_trace_targets.targets.tracepoints))
		return 0;
	err = find_raw_syscalls(raw);
	for (size_t direction = 0; !err && direction < PLUMB_DIRECTIONS; direction++)
		number_direction(direction, &raw->list[direction]);
	return err;
}

static bool is_asked_for(size_t direction)
{
	for (uint32_t nr = 0; nr < PLUMB_SYSCALLS; nr++)
		if (plumb_trace_targets.calls[direction][nr])
			return true;
	return false;
}

int plumb_trace_targets_attach_calls(struct plumb_probes *probes, const struct bpf_object *object,
				     const char *raw, const char *perf, char *what, size_t size)
{
	int err = 0;

	for (size_t direction = 0; !err && direction < PLUMB_DIRECTIONS; direction++) {
		struct plumb_tracepoints one = {plumb_trace_targets.raw_syscalls.list + direction,
						1};

		if (is_asked_for(direction))
			err = plumb_probe_tracepoints(probes, object, raw, perf, &one, direction,
						      what, size);
	}
	return err;
}
