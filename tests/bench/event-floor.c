/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * event-floor softirq|connect|retransmit|request empty|clock: attach programs that do nothing, or
 * read the clock, say `tracing …`, until SIGINT or SIGTERM.
 */
#include <errno.h>
#include <linux/types.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <bpf/libbpf.h>
#include "event-floor.skel.h"

int main(int argc, char **argv)
{
	struct event_floor_bpf *skel = event_floor_bpf__open();
	struct bpf_program *p;
	sigset_t signals;
	int sig;

	if (argc != 3) {
		fprintf(stderr,
			"usage: event-floor softirq|connect|retransmit|request empty|clock\n");
		return 2;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (!skel)
		return 1;
	bpf_object__for_each_program(p, skel->obj)
		bpf_program__set_autoload(p,
					  !strncmp(bpf_program__name(p), argv[1], strlen(argv[1])));
	skel->rodata->clock_is_read = !strcmp(argv[2], "clock");
	if (event_floor_bpf__load(skel) || event_floor_bpf__attach(skel)) {
		fprintf(stderr, "event-floor: %s\n", strerror(errno));
		return 1;
	}
	fprintf(stderr, "event-floor: tracing … %s %s\n", argv[1], argv[2]);
	sigwait(&signals, &sig);
	return 0;
}
