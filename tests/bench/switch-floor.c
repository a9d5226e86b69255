/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* switch-floor STEP: attach a program that does no more than STEP, say `tracing …`, until SIGTERM.
 */
#include <errno.h>
#include <linux/types.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <bpf/libbpf.h>
#include "switch-floor.h"
#include "switch-floor.skel.h"

static const char *const steps[] = {
	[FLOOR_EMPTY] = "empty", [FLOOR_KERNEL] = "kernel", [FLOOR_BOTH] = "both"};

int main(int argc, char **argv)
{
	struct switch_floor_bpf *skel = switch_floor_bpf__open();
	int sig, step = -1;
	sigset_t signals;

	for (int i = 0; argc == 2 && i < 3; i++)
		if (!strcmp(argv[1], steps[i]))
			step = i;
	if (step < 0) {
		fprintf(stderr, "usage: switch-floor empty|kernel|both\n");
		return 2;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (!skel)
		return 1;
	skel->rodata->step = step;
	if (switch_floor_bpf__load(skel) || switch_floor_bpf__attach(skel)) {
		fprintf(stderr, "switch-floor: %s\n", strerror(errno));
		return 1;
	}
	fprintf(stderr, "switch-floor: tracing … %s\n", argv[1]);
	sigwait(&signals, &sig);
	return 0;
}
