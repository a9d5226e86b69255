/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hints: what may be behind a run that recorded nothing. */

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <plumb/core/clock.h>
#include <plumb/core/filter.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/run.h>
#include <plumb/core/text.h>
#include <plumb/core/verdict.h>
#include <plumb/inflight/inflight.h>
#include <plumb/syscalls/syscalls.h>
#include <plumb/terminal/suggest.h>

#define MAX_NAMES  16384
#define LEAST_PART 3 /* letters; shorter names are parts of too many others */

/* The names of the threads that /proc shows to this user. */
struct names {
	char *all[MAX_NAMES];
	size_t n;
};

static void add_thread(void *context, uint32_t pid, uint32_t tid)
{
	struct names *names = context;
	char name[PLUMB_COMM_LEN];

	if (names->n == MAX_NAMES)
		return;
	plumb_thread_comm(pid, tid, name);
	names->all[names->n++] = strdup(name);
}

static bool runs(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->all[i], name))
			return true;
	return false;
}

/* Suggests a name that contains WANTED, in any case, otherwise a similar one. */
static void hint_at_name(const struct names *names, const char *wanted)
{
	char shown[PLUMB_ESCAPED], other[PLUMB_ESCAPED];
	const char *nearest = NULL;
	bool inside = false;

	for (size_t i = 0; i < names->n && !nearest && strlen(wanted) >= LEAST_PART; i++)
		if (strcasestr(names->all[i], wanted))
			nearest = names->all[i];
	if (!nearest)
		nearest = plumb_nearest(wanted, (const char *const *)names->all, names->n);
	if (!nearest)
		return;
	inside = strstr(nearest, wanted);
	plumb_escape(shown, wanted, sizeof(shown));
	plumb_escape(other, nearest, sizeof(other));
	plumb_warn("-c %s: no thread has this name now; did you mean '%s'%s%s%s?", shown, other,
		   inside ? ", or -c '*" : "", inside ? shown : "", inside ? "*'" : "");
}

static void hint_at_names(const struct plumb_options *o)
{
	static struct plumb_run unfiltered;
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return;
	plumb_threads_each(&unfiltered, plumb_now() + PLUMB_SECOND, add_thread, names);
	for (uint32_t i = 0; i < o->n_comms; i++)
		if (!runs(names, o->comms[i]))
			hint_at_name(names, o->comms[i]);
	for (size_t i = 0; i < names->n; i++)
		free(names->all[i]);
	free(names);
}

/* What libc takes from the vDSO. */
static void hint_at_vdso(const struct syscall_config *selection)
{
	static const uint32_t calls[] = {
		SYS_clock_gettime, SYS_gettimeofday, SYS_clock_getres, SYS_getcpu,
#ifdef SYS_time
		SYS_time,
#endif
	};

	if (!selection->selected || selection->others_but)
		return;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (plumb_syscall_is_selected(selection, calls[i], PLUMB_ABI_NATIVE)) {
			plumb_warn(
				"-s: most programs read clocks in the vDSO, without a system call: "
				"user-func-latency or func-count on libc's function sees them");
			return;
		}
}

static bool have_exited(struct plumb_run *run)
{
	const struct plumb_options *o = &run->options;
	struct pollfd fd = {.events = POLLIN};

	for (uint32_t i = 0; i < o->n_pids; i++) {
		fd.fd = run->pids[i];
		if (poll(&fd, 1, 0) != 1)
			return false;
	}
	return o->n_pids || plumb_filter_threads_are_over(run);
}

static void begin(struct plumb_run *run)
{
	if (have_exited(run))
		plumb_warn("%s had exited when the trace began",
			   run->options.n_pids ? "-p: the processes" : "-t: the threads");
}

static void finish(const struct plumb_run *run, const struct plumb_snapshot *total)
{
	const struct plumb_options *o = &run->options;
	uint64_t compat_calls = total->ledger.compat_calls;

	if (total->cpus_changed)
		plumb_warn("CPUs went online or offline during the trace: for up to a second after "
			   "one came its events are missing");
	if (plumb_ledger_judge(total).recorded)
		return;
	if (compat_calls)
		plumb_warn("-s: none of these calls, but %llu 32-bit ones of the same name: "
			   "-s %sNAME selects those",
			   (unsigned long long)compat_calls,
			   plumb_syscall_tables[PLUMB_ABI_COMPAT].prefix);
	if (run->tool->options.syscalls)
		hint_at_vdso(run->tool->options.syscalls->selection);
	if (o->n_comms)
		hint_at_names(o);
	if (o->command && o->n_cgroups)
		plumb_warn("-g: %s starts in the tool's cgroup; it is traced only while in the "
			   "given cgroups",
			   o->command[0]);
}

const struct plumb_part plumb_hints_part = {
	.name = "hints",
	.begin = begin,
	.finish = finish,
};
