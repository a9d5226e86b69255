/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * floor STEP [PID]: attach a pair of programs that do nothing beyond STEP, say
 * `tracing …`, and stay until SIGTERM.  From the step `who` on, only the calls of
 * PID are followed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "floor.h"
#include "floor.skel.h"

static const char *const steps[FLOOR_STEPS] = {
	[FLOOR_EMPTY] = "empty",     [FLOOR_CLOCK] = "clock", [FLOOR_WHO] = "who",
	[FLOOR_STORAGE] = "storage", [FLOOR_COUNT] = "count", [FLOOR_TOTALS] = "totals",
	[FLOOR_HIST] = "hist",
};

static int find_step(const char *name)
{
	int i;

	for (i = 0; i < FLOOR_STEPS; i++)
		if (!strcmp(steps[i], name))
			return i;
	return -1;
}

static int usage(void)
{
	int i;

	fprintf(stderr, "usage: floor STEP [PID], STEP one of");
	for (i = 0; i < FLOOR_STEPS; i++)
		fprintf(stderr, " %s", steps[i]);
	fputc('\n', stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct floor_bpf *skel;
	unsigned long pid = 0;
	int step, err, sig, cpus;
	sigset_t signals;
	char *end;

	if (argc < 2 || argc > 3)
		return usage();
	step = find_step(argv[1]);
	if (step < 0)
		return usage();
	if (argc == 3) {
		errno = 0;
		pid = strtoul(argv[2], &end, 10);
		if (errno || !pid || pid > 4194304 || *end)
			return usage();
	}
	if (step >= FLOOR_WHO && !pid)
		return usage();

	/* Blocked from the start: sigwait() below takes it whenever it comes. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);

	skel = floor_bpf__open();
	if (!skel) {
		fprintf(stderr, "floor: open: %s\n", strerror(errno));
		return 1;
	}
	skel->rodata->floor_step = step;
	skel->rodata->floor_pid = pid;
	cpus = libbpf_num_possible_cpus();
	err = cpus < 0 ? cpus : 0;
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.calls, cpus);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.totals, cpus);
	if (!err)
		err = bpf_map__set_max_entries(skel->maps.hists, cpus);
	if (!err)
		err = floor_bpf__load(skel);
	if (!err)
		err = floor_bpf__attach(skel);
	if (err) {
		fprintf(stderr, "floor: %s: %s\n", steps[step], strerror(-err));
	} else {
		fprintf(stderr, "floor: tracing … %s\n", steps[step]);
		sigwait(&signals, &sig);
	}
	floor_bpf__destroy(skel);
	return err ? 1 : 0;
}
