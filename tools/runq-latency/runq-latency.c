/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/kernel.h>
#include <plumb/log.h>
#include <plumb/switches.h>
#include <plumb/tool.h>

#include <bpf/libbpf.h>

#include "runq-latency.skel.h"

static const struct argp_option options[] = {{0}};

static int open_raw_tracepoint(struct plumb_bpf *bpf, bool twin)
{
	struct runq_latency_bpf *skel = runq_latency_bpf__open_opts(plumb_open_opts());

	(void)twin;
	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sched_switch");
	return 0;
}

static const struct plumb_rung rungs[] = {PLUMB_AWAY_RUNG(open_raw_tracepoint)};

int main(int argc, char **argv)
{
	struct plumb_tool tool = {
		.name = "runq-latency",
		.question = "How long do runnable threads wait for a CPU: percentiles by process, "
			    "thread, name, cgroup, CPU.",
		.about = "hooks:     raw tracepoint sched_switch (stable-ish), where the thread\n"
			 "           that leaves the CPU is asked how long it had waited for it\n"
			 "           (sched_info.run_delay, which the kernel keeps for all)\n"
			 "kernels:   5.10, 6.1, 6.12, 7.2 emulated, 6.18 locked down; x86_64\n"
			 "fire rate: each context switch of the machine, 1,000 to 1,000,000 a "
			 "second\n"
			 "cost:      see the footer\n",
		.options = options,
		.key_size = sizeof(struct plumb_who),
		.default_by = 0,
		.no_errors = true,
		.switches = &plumb_switches,
		.traced = "a traced switch",
		.prepare = plumb_sched_check,
		.rungs = rungs,
		.n_rungs = sizeof(rungs) / sizeof(rungs[0]),
	};

	return plumb_main(argc, argv, &tool);
}
