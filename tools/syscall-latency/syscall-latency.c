/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <plumb/bpf/core/copies.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/run.h>
#include <plumb/core/tool.h>
#include <plumb/cost/calibrate.h>
#include <plumb/functions/hooks.h>
#include <plumb/functions/timed-functions.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/kernel.h>
#include <plumb/split/split.h>
#include <plumb/syscalls/syscall-options.h>
#include <plumb/syscalls/tail.h>

#include "syscall-latency-tail.skel.h"
#include "syscall-latency.skel.h"

static bool has_size;
static struct plumb_tool tool;

/* clang-format off */
static const struct plumb_option options[] = {
	{"min-size", 0, "BYTES", "reads, writes, sends and receives of at least BYTES", 30, .size = &plumb_syscall_selection.min_size, .given = &has_size},
	{"max-size", 0, "BYTES", "reads, writes, sends and receives of at most BYTES", 30, .size = &plumb_syscall_selection.max_size, .given = &has_size},
	{"min", 0, "TIME", "calls that took at least TIME (10us, 1.5ms, 2s)", 30, .time = &plumb_syscall_selection.min_ns},
	PLUMB_OPTION_TAIL,
	PLUMB_OPTION_SPLIT,
	PLUMB_OPTION_NO_RETURN("call"),
	{0},
};
/* clang-format on */

static int open_tail(struct plumb_bpf *bpf, bool calibration)
{
	struct syscall_latency_tail_bpf *skel =
		syscall_latency_tail_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sched_switch", "cpu-clock");
	plumb_fds_configure(bpf, (uint8_t *)skel->rodata->fd_arguments,
			    (int32_t *)skel->rodata->fd_connects, calibration);
	return plumb_tail_configure(bpf, calibration, &skel->rodata->syscall_config,
				    skel->bss->plumb_cpus_left, &skel->bss->tail_undecided);
}

static void complete(struct plumb_options *o)
{
	static const uint32_t unseen = 1U << PLUMB_IRQ; /* with --tail */
	struct syscall_config *c = &plumb_syscall_selection;

	/* Calls differ more than processes, of which there are too many to have a row for each
	 * call. */
	if (!o->by_given && !c->selected && !o->n_pids && !o->n_tids && !o->command)
		o->by &= ~PLUMB_BY_PID;
	if (c->min_size > c->max_size)
		plumb_usage_error("--min-size is above --max-size");
	c->has_size = has_size;
	plumb_tail_complete(&tool, o, open_tail);
	if (!plumb_tail.min_ns)
		return;
	tool.measure.second = "at_most";
	tool.measure.parts = NULL; /* those of split.h */
	tool.measure.n_parts = 0;
	tool.measure.unseen_parts = &unseen;
	tool.overhead.switches = &plumb_switches;
}

static int open_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	struct syscall_latency_bpf *skel = syscall_latency_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sys_enter", "sys_exit");
	bpf->syscalls = (struct syscall_config *)&skel->rodata->syscall_config;
	plumb_fds_configure(bpf, (uint8_t *)skel->rodata->fd_arguments,
			    (int32_t *)skel->rodata->fd_connects, calibration);
	return 0;
}

/* Why fentry is unsupported: it takes a few calls, whose programs must not share a slot. */
static const char *fentry_unsupported(const struct plumb_options *o)
{
	uint32_t nrs[PLUMB_COPIES];
	int n = plumb_syscall_selected(&plumb_syscall_selection, nrs, PLUMB_COPIES);

	if (n < 0)
		return "takes 1 to 4 native system calls, named by -s";
	if (n > 1 && !(o->by & PLUMB_BY_SYSCALL))
		return "takes several system calls only if they are told apart (-b syscall)";
	return NULL;
}

static const char *const fentry_programs[] = {PLUMB_COPIES_OF("leave"), PLUMB_COPIES_OF("enter"),
					      NULL};

/* Set the target of copy I of the programs: the function of system call NR. */
static int set_target(struct syscall_latency_bpf *skel, struct plumb_bpf *bpf, int i, uint32_t nr)
{
	struct bpf_program *p;
	int err = 0;

	((uint32_t *)skel->rodata->fentry_nrs)[i] = nr;
	plumb_syscall_function(nr, bpf->hooks[i], sizeof(bpf->hooks[i]));
	/* The names of leave, then those of enter, by copy. */
	for (int name = i; name < 2 * PLUMB_COPIES && !err; name += PLUMB_COPIES) {
		p = bpf_object__find_program_by_name(bpf->object, fentry_programs[name]);
		bpf_program__set_autoload(p, true);
		err = plumb_hook_set_function(p, bpf->hooks[i]);
	}
	return err;
}

static int open_fentry(struct plumb_bpf *bpf, bool calibration)
{
	struct syscall_latency_bpf *skel = syscall_latency_bpf__open_opts(plumb_open_opts());
	uint32_t nrs[PLUMB_COPIES] = {PLUMB_CALIBRATION_NR};
	int n = calibration ? 1
			    : plumb_syscall_selected(&plumb_syscall_selection, nrs, PLUMB_COPIES),
	    err = 0;

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "");
	bpf->syscalls = (struct syscall_config *)&skel->rodata->syscall_config;
	plumb_fds_configure(bpf, (uint8_t *)skel->rodata->fd_arguments,
			    (int32_t *)skel->rodata->fd_connects, calibration);
	for (int i = 0; i < n && !err; i++)
		err = set_target(skel, bpf, i, nrs[i]);
	return err;
}

static struct plumb_mechanism mechanisms[] = {
	{
		.name = "fentry",
		.stability = "unstable: kernel functions",
		.unsupported = fentry_unsupported,
		.preemptible = PLUMB_AS_FENTRY,
		.open = open_fentry,
		.interleaved = true,
		.selective = true,
		.programs = fentry_programs,
	},
	PLUMB_SYSCALL_MECHANISMS(open_tracepoints, "stable"),
};

static const struct plumb_inflight inflight = {
	PLUMB_SYSCALLS_INFLIGHT,
	.min_ns = &plumb_syscall_selection.min_ns,
};

static int prepare(struct plumb_options *o)
{
	plumb_fds_prepare(o);
	if (!o->split && o->no_return)
		return 0;
	for (size_t i = 0; i < sizeof(mechanisms) / sizeof(mechanisms[0]); i++)
		if (mechanisms[i].open == open_tracepoints)
			mechanisms[i].stability = PLUMB_SCHED_STABILITY;
	return 0;
}

static struct plumb_tool tool = {
	.card.name = "syscall-latency",
	.card.summary = "Summarize system call latency as percentiles, by process, "
			"thread, name, call or cgroup.",
	.card.about = "hooks:     fentry, fexit on the functions of 1 to 4 calls named by -s\n"
		      "           (unstable),\n"
		      "           raw tracepoints sys_enter, sys_exit (stable), or from 7.0 on\n"
		      "           tracepoints (stable), whose programs cannot be preempted;\n"
		      "           without --no-return also tracepoint sched_switch, with "
		      "--split\n"
		      "           also sched_switch, sched_waking (stable-ish); with --tail\n"
		      "           only these, and perf event cpu-clock (stable)\n"
		      "kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		      "fire rate: 1,000 to 1,000,000 a second on a busy machine\n"
		      "cost:      measured at each start, see the footer; tracepoints slow\n"
		      "           all other system calls of the machine too, by some 30 ns\n",
	.options.list = options,
	.options.complete = complete,
	.options.more = plumb_syscall_filters,
	.options.syscalls = &plumb_syscalls,
	.keys.fields = plumb_syscall_fields,
	.keys.size = sizeof(struct syscall_key),
	.keys.paths = PLUMB_BY_FD,
	.keys.default_by = PLUMB_BY_PID | PLUMB_BY_COMM | PLUMB_BY_SYSCALL,
	.measure.errors = true,
	.measure.parts = plumb_return_parts,
	.measure.n_parts = PLUMB_RETURN_PARTS + 1,
	.measure.split_by = &plumb_splitting,
	.overhead.syscalls = true,
	.witness = &plumb_syscall_witness,
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle.prepare = prepare,
	.inflight = &inflight,
	.meanwhile = true,
};

int main(int argc, char **argv)
{
	tool.keys.n_fields = plumb_n_syscall_fields;
	return plumb_main(argc, argv, &tool);
}
