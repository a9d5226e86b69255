/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * storage-floor WHAT STEP: attach programs that do no more than STEP, say `tracing …`, stay until
 * SIGTERM.
 *
 * WHAT is block, alloc or read: raw tracepoints of block requests, of kmem_cache_alloc, or those of
 * all system calls; or fault: the software events of page-fault-latency.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "storage-floor.h"
#include "storage-floor.skel.h"

static const char *const steps[FLOOR_STEPS] = {[FLOOR_EMPTY] = "empty", [FLOOR_CLOCK] = "clock"};

/* At each of these events, on all CPUs. */
static int attach_event(struct bpf_program *prog, __u64 event)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = event,
		.sample_period = 1,
	};
	int cpu, fd;

	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0)
			return -errno;
		if (!bpf_program__attach_perf_event(prog, fd))
			return -errno;
	}
	return 0;
}

static int attach(struct storage_floor_bpf *skel, const char *what)
{
	int err;

	if (strcmp(what, "fault"))
		return storage_floor_bpf__attach(skel);
	err = attach_event(skel->progs.fault_begins, PERF_COUNT_SW_PAGE_FAULTS);
	return err ?: attach_event(skel->progs.fault_ends, PERF_COUNT_SW_PAGE_FAULTS_MIN);
}

int main(int argc, char **argv)
{
	struct storage_floor_bpf *skel = storage_floor_bpf__open();
	struct bpf_program *prog = NULL;
	int err, sig, step = -1, n = 0;
	sigset_t signals;

	for (int i = 0; argc == 3 && i < FLOOR_STEPS; i++)
		if (!strcmp(argv[2], steps[i]))
			step = i;
	if (!skel)
		return 1;
	while (step >= 0 && (prog = bpf_object__next_program(skel->obj, prog)))
		if (!strncmp(bpf_program__name(prog), argv[1],
			     strcspn(bpf_program__name(prog), "_"))) {
			bpf_program__set_autoload(prog, true);
			n++;
		}
	if (!n) {
		fprintf(stderr, "usage: storage-floor block|alloc|read|fault empty|clock\n");
		return 2;
	}
	skel->rodata->step = step;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	err = storage_floor_bpf__load(skel);
	if (!err)
		err = attach(skel, argv[1]);
	if (err) {
		fprintf(stderr, "storage-floor: %s\n", strerror(-err));
		return 1;
	}
	fprintf(stderr, "storage-floor: tracing … %s %s\n", argv[1], argv[2]);
	sigwait(&signals, &sig);
	return 0;
}
