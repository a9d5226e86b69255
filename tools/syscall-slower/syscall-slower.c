/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/report.h>
#include <plumb/core/run.h>
#include <plumb/core/tool.h>
#include <plumb/cost/calibrate.h>
#include <plumb/functions/block-hooks.h>
#include <plumb/inflight/inflight.h>
#include <plumb/kernel/kernel.h>
#include <plumb/kernel/thread.h>
#include <plumb/pictures/picture.h>
#include <plumb/recorder/slots.h>
#include <plumb/recorder/slower.h>
#include <plumb/stacks/stacks.h>
#include <plumb/syscalls/arguments.h>
#include <plumb/syscalls/syscall-options.h>
#include <plumb/syscalls/tail.h>

#include <bpf/libbpf.h>

#include "slower.h"
#include "syscall-slower-tail.skel.h"
#include "syscall-slower.h"
#include "syscall-slower.skel.h"

#define MOST_QUOTAS 256 /* cgroups */

static __u64 buffer = PLUMB_SLOWER_BUFFER, min_ns;
static bool stacks, wakers, has_min;

static struct plumb_picture_file timeline = {.option = "--timeline"};
static struct plumb_picture_file perfetto = {.option = "--perfetto"};
static struct kept *kept;
static struct block_hooks hooks;
static struct plumb_tool tool;

static struct plumb_inflight inflight = {
	PLUMB_SYSCALLS_INFLIGHT,
	.min_ns = &min_ns,
};

/* clang-format off */
static const struct plumb_option options[] = {
	PLUMB_OPTION_TAIL,
	{"stacks", 0, NULL, "print the stack of the longest time off the CPU", 40, .given = &stacks},
	{"wakers", 0, NULL, "print the stack of the thread that ended the longest sleep", 40, .given = &wakers},
	PLUMB_OPTION_NO_RETURN("call"),
	{"timeline", 0, "FILE.svg", "at the end, draw the calls by thread", 40, .text = &timeline.path},
	{"perfetto", 0, "FILE.json", "at the end, write the calls as a trace for Perfetto", 40, .text = &perfetto.path},
	{"buffer", 0, "BYTES", "size of the buffer for calls not yet printed; default 4M", 60, .size = &buffer, .min = 4096, .max = 1 << 30},
	{0},
};
/* clang-format on */

static int open_tail(struct plumb_bpf *bpf, bool calibration)
{
	struct syscall_slower_tail_bpf *skel =
		syscall_slower_tail_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sched_switch", "sched_waking", "cpu-clock");
	bpf->config->split = 1;
	bpf->config->wakers = wakers ? PLUMB_WAKERS_STACKS : PLUMB_WAKERS_NAMES;
	*(uint32_t *)&skel->rodata->with_stacks = stacks;
	bpf_map__set_max_entries(skel->maps.slow_calls, buffer);
	return plumb_tail_configure(bpf, calibration, &skel->rodata->syscall_config,
				    skel->bss->plumb_cpus_left, &skel->bss->tail_undecided);
}

static void complete(struct plumb_options *o)
{
	static const uint32_t unseen = 1U << PLUMB_IRQ | 1U << PLUMB_RETURN; /* with --tail */

	if (!has_min && !plumb_tail.given)
		plumb_usage_error("no MIN: syscall-slower 10ms prints calls of 10 ms and more, "
				  "0 all calls");
	if (has_min && plumb_tail.given)
		plumb_usage_error("--tail=TIME takes the place of MIN");
	plumb_tail_complete(&tool, o, open_tail);
	if (plumb_tail.min_ns) {
		min_ns = plumb_tail.min_ns;
		tool.measure.unseen_parts = &unseen;
		tool.overhead.switches = &plumb_switches;
	}
	if (plumb_picture_check(&timeline, o->check_only) ||
	    plumb_picture_check(&perfetto, o->check_only))
		exit(PLUMB_EXIT_FAILED);
	inflight.stacks = stacks;
	if (!stacks && !wakers)
		tool.stacking = NULL;
	if (timeline.path || perfetto.path)
		kept = calls_keep();
	calls_begin(stacks, wakers);
}

/* Take MIN, the first argument. */
static bool set_min(const char *text, bool number)
{
	if (has_min)
		return false;
	min_ns = plumb_option_duration("MIN", text);
	has_min = true;
	return true;
}

/* All slow calls are one row, since they only have to be counted. */
static int fill(struct bpf_object *object)
{
	return plumb_slot_fill(object, 0, &(struct plumb_who){});
}

static int prepare(struct plumb_options *o)
{
	return plumb_tail.min_ns ? 0 : block_hooks_find(o->btf, &hooks);
}

static int open_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	struct syscall_slower_bpf *skel = syscall_slower_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sys_enter", "sys_exit", "sched_switch", "sched_waking",
			    "block_bio_queue", "block_bio_complete", "block_split",
			    "block_rq_complete");
	memcpy((void *)&skel->rodata->block_config, &hooks.config, sizeof(hooks.config));
	bpf->config->split = bpf->config->meanwhile = 1;
	bpf->config->wakers = wakers ? PLUMB_WAKERS_STACKS : PLUMB_WAKERS_NAMES;
	*(uint32_t *)&skel->rodata->with_stacks = stacks;
	bpf->syscalls = (struct syscall_config *)&skel->rodata->syscall_config;
	plumb_call_shapes((struct syscall_shape *)skel->rodata->slower_shapes);
	/* Measure the cost of calls that are not printed: nearly all calls are of these. */
	*(__u64 *)&skel->rodata->slower_min_ns = calibration ? UINT64_MAX : min_ns;
	bpf_map__set_max_entries(skel->maps.slow_calls, buffer);
	bpf_map__set_max_entries(skel->maps.plumb_meanwhile_paths, MOST_QUOTAS);
	if (bpf_map__max_entries(skel->maps.slow_waiting) < 256U * libbpf_num_possible_cpus())
		bpf_map__set_max_entries(skel->maps.slow_waiting,
					 256U * libbpf_num_possible_cpus());
	return 0;
}

static const struct plumb_mechanism mechanisms[] = {
	PLUMB_SYSCALL_MECHANISMS(open_tracepoints, PLUMB_SCHED_STABILITY),
};

static const struct plumb_ring rings[] = {
	{"slow_calls", &plumb_in_order, &slow_calls},
	{},
};

/* Calls that have not ended are shown from the start of the trace on, at the earliest. */
static void keep_flights(const struct plumb_report *r)
{
	const struct plumb_flights *f = r->flights;

	for (size_t i = 0; i < f->n; i++) {
		const struct plumb_flight *one = &f->all[i];
		struct slow_call c = {
			.end = f->taken,
			.ns = plumb_flight_traced(f, one),
			.pid = one->pid,
			.tid = one->tid,
			.nr = one->what,
			.abi = one->what >> 32,
		};

		plumb_thread_comm(one->pid, one->tid, c.comm);
		if (c.ns)
			kept_add(kept, &c, true);
	}
}

static int save(struct plumb_report *r)
{
	struct timeline t = {kept, r, r->total->clock - r->elapsed};

	if (!kept)
		return 0;
	keep_flights(r);
	kept_sort(kept);
	/* All is attached a little before the trace begins. */
	for (size_t i = 0; i < kept->n; i++)
		if (kept->calls[i].begin < t.start)
			t.start = kept->calls[i].begin;
	return plumb_picture_save(&timeline, timeline_draw, &t)
		       ?: plumb_picture_save(&perfetto, timeline_trace, &t);
}

static struct plumb_tool tool = {
	.card.name = "syscall-slower",
	.card.summary = "Print each system call that takes at least MIN, and where it waited.",
	.card.about = "hooks:     raw tracepoints sys_enter, sys_exit (stable), or from 7.0 on\n"
		      "           tracepoints (stable); raw tracepoints sched_switch,\n"
		      "           sched_waking (stable-ish); for who uses the disk\n"
		      "           block_bio_queue, block_split, block_rq_complete,\n"
		      "           block_bio_complete (stable-ish); with --tail only\n"
		      "           sched_switch, sched_waking and perf event cpu-clock\n"
		      "kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		      "fire rate: 1,000 to 1,000,000 a second on a busy machine\n"
		      "cost:      measured at each start, see the footer; all other system\n"
		      "           calls of the machine are slower too, by some 30 ns\n",
	.options.list = options,
	.options.complete = complete,
	.options.arguments = "[MIN] ",
	.options.argument = set_min,
	.options.more = plumb_syscall_filters,
	.options.syscalls = &plumb_syscalls,
	.options.lacks = PLUMB_NO_COLUMN_OPTIONS | PLUMB_NO_ROW_OPTIONS,
	.keys.size = sizeof(struct plumb_who),
	.keys.max = 1,
	.keys.records_cgroup = true,
	.measure.kind = PLUMB_COUNTS,
	.view.one_by_one = true,
	.view.save = save,
	.overhead.syscalls = true,
	.overhead.traced = "a call of less than MIN",
	.witness = &plumb_syscall_witness,
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle.prepare = prepare,
	.lifecycle.fill = fill,
	.lifecycle.reports_first = true,
	.rings = rings,
	.stacking = &plumb_stacking_own, /* with --stacks or --wakers */
	.inflight = &inflight,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
