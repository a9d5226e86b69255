/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/core/tracer.h>
#include <plumb/syscalls/syscall-options.h>

#include "syscall-count.skel.h"

static int open_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	struct syscall_count_bpf *skel = syscall_count_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sys_enter", "sys_exit");
	bpf->syscalls = (struct syscall_config *)&skel->rodata->syscall_config;
	plumb_fds_configure(bpf, (uint8_t *)skel->rodata->fd_arguments,
			    (int32_t *)skel->rodata->fd_connects, calibration);
	return 0;
}

static const struct plumb_mechanism mechanisms[] = {
	PLUMB_SYSCALL_MECHANISMS(open_tracepoints, "stable"),
};

int main(int argc, char **argv)
{
	struct plumb_tool tool = {
		.card.name = "syscall-count",
		.card.summary = "Count system calls and their errors, by call, process, thread, "
				"name or cgroup.",
		.card.about =
			"hooks:     raw tracepoints sys_enter, sys_exit (stable), or from 7.0 on\n"
			"           tracepoints (stable), whose programs cannot be preempted\n"
			"kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
			"fire rate: 1,000 to 1,000,000 a second on a busy machine\n"
			"cost:      measured at each start, see the footer; tracepoints slow\n"
			"           all other system calls of the machine too, by some 30 ns\n",
		.options.more = plumb_syscall_options,
		.options.lacks = PLUMB_NO_HISTOGRAM_OPTIONS | PLUMB_NO_TIME_OPTIONS,
		.options.syscalls = &plumb_syscalls,
		.keys.fields = plumb_syscall_fields,
		.keys.n_fields = plumb_n_syscall_fields,
		.keys.size = sizeof(struct syscall_key),
		.keys.paths = PLUMB_BY_FD,
		.keys.default_by = PLUMB_BY_SYSCALL,
		.measure.kind = PLUMB_COUNTS,
		.measure.errors = true,
		.overhead.syscalls = true,
		.witness = &plumb_syscall_witness,
		.mechanisms.list = mechanisms,
		.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
		.lifecycle.prepare = plumb_fds_prepare,
	};

	return plumb_main(argc, argv, &tool);
}
