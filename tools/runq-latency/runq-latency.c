/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/core/tracer.h>
#include <plumb/cost/calibrate.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/recorder/slower.h>
#include <plumb/witness/witness.h>

#include "runq-latency.skel.h"
#include "runq-inflight.h"
#include "runq-latency.h"
#include "slower.h"

#define MOST_QUOTAS 256

static const __u64 *throttled, *dropped; /* runq_throttled and runq_dropped of the programs */
static __u64 slower_ns = UINT64_MAX;

/* clang-format off */
static const struct plumb_option options[] = {
	{"slower", 0, "TIME", "also print each wait that takes at least TIME (10us, 1.5ms, 2s), and who had the CPU meanwhile", 40, .time = &slower_ns},
	{0},
};
/* clang-format on */

static int open_raw_tracepoint(struct plumb_bpf *bpf, bool calibration)
{
	struct runq_latency_bpf *skel = runq_latency_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	if (!calibration) {
		throttled = &skel->bss->runq_throttled;
		dropped = &skel->bss->runq_dropped;
	}
	*bpf = PLUMB_BPF_OF(skel, "sched_waking", "sched_wakeup_new", "sched_switch");
	bpf->config->waits = 1;
	skel->rodata->runq_slower = slower_ns;
	if (slower_ns == UINT64_MAX)
		return 0;
	plumb_cgroup_retain();
	bpf->config->meanwhile = RUNQ_TELL_SLOW; /* --who changes that */
	bpf_map__set_max_entries(skel->maps.runq_waits, PLUMB_SLOWER_BUFFER);
	bpf_map__set_max_entries(skel->maps.plumb_meanwhile_paths, MOST_QUOTAS);
	return 0;
}

/* Of the whole trace: waits that began in an interval may end in another. */
static void print_footer(FILE *out)
{
	if (*throttled)
		fprintf(out,
			"throttled: %llu waits in this trace began with the CPU quota used up\n",
			(unsigned long long)*throttled);
	if (*dropped)
		fprintf(out, "waits not printed: %llu, the buffer was full\n",
			(unsigned long long)*dropped);
}

static void add_json(json_t *json, const struct plumb_report *r)
{
	json_object_set_new(json, "throttled", plumb_json_u64(*throttled));
	json_object_set_new(json, "not_printed", plumb_json_u64(*dropped));
}

/* Programs that begin a wait are attached before those that end it. */
static const char *const programs[] = {"thread_woken_new", "on_leave", NULL};
static const char *const run[] = {"thread_number", NULL};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "raw_tracepoint",
		.stability = PLUMB_SCHED_STABILITY,
		.open = open_raw_tracepoint,
		.programs = programs,
		.test_runs = run,
	},
};

static const struct plumb_ring rings[] = {
	{"runq_waits", &plumb_in_order, &runq_slow},
	{},
};

/*
 * Threads leave a CPU as often as they were given one.  Those that end do it once more, when the
 * events of threads count them no more.
 */
static const char *open_switches(const struct plumb_run *run)
{
	const char *why = plumb_witness_tracepoint(run, "sched", "sched_switch", "prev_pid != 0");

	if (!why && plumb_witness_is_of_threads())
		why = plumb_witness_tracepoint(run, "sched", "sched_process_exit", NULL);
	return why;
}

static const struct plumb_witness witness = {
	.source = "perf events sched_switch",
	.misses_ends = true,
	.open = open_switches,
	.count = plumb_witness_events,
	.own = plumb_witness_own_events,
	.seen = plumb_witness_recorded,
};

static struct plumb_tool tool = {
	.card.name = "runq-latency",
	.card.summary = "Measure how long runnable threads wait for a CPU: percentiles by "
			"process, thread, name, cgroup or CPU.",
	.card.about = "hooks:     raw tracepoints sched_waking, sched_wakeup_new,\n"
		      "           sched_switch (stable-ish): from the wakeup, or the "
		      "preemption,\n"
		      "           until the thread has a CPU\n"
		      "kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		      "fire rate: each context switch of the machine, 1,000 to 1,000,000 a "
		      "second\n"
		      "cost:      see the footer\n",
	.options.list = options,
	.keys.size = sizeof(struct plumb_who),
	.keys.default_by = 0,
	.view.footer = print_footer,
	.view.report_json = add_json,
	.overhead.switches = &plumb_switches,
	.overhead.traced = "a traced switch",
	.witness = &witness,
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.rings = rings,
	.inflight = &runq_inflight,
	.meanwhile = true,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
