/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stack-twice: says `tracing …`, takes the kernel stack of each context switch both ways until
 * SIGTERM, and says as JSON how often the one agreed with the other.  Meanwhile the kernel's
 * statistics of programs are switched on and off: so programs are called from two places.
 */
#include <errno.h>
#include <linux/types.h>
#include <plumb/bpf/core/config.h>
#include <plumb/bpf/core/ledger.h>
#include <plumb/bpf/stack/stacks.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "stack-twice.h"
#include "stack-twice.skel.h"

#define UNABLE 77

int main(void)
{
	struct stack_twice_bpf *skel;
	struct twice_counts *c;
	sigset_t signals;
	int stats = -1;

	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_task_pt_regs, NULL) <=
	    0) {
		fprintf(stderr, "stack-twice: this kernel does not say where a stack begins\n");
		return UNABLE;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	libbpf_set_print(NULL);
	skel = stack_twice_bpf__open();
	if (!skel)
		return 1;
	bpf_map__set_max_entries(skel->maps.plumb_stacks, 16384);
	bpf_map__set_max_entries(skel->maps.plumb_stack_taken, libbpf_num_possible_cpus());
	if (stack_twice_bpf__load(skel) || stack_twice_bpf__attach(skel)) {
		fprintf(stderr, "stack-twice: %s\n", strerror(errno));
		return 1;
	}
	fprintf(stderr, "stack-twice: tracing …\n");
	while (sigtimedwait(&signals, NULL, &(struct timespec){.tv_nsec = 100000000}) < 0) {
		if (stats < 0) {
			stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
		} else {
			close(stats);
			stats = -1;
		}
	}
	stack_twice_bpf__detach(skel);
	c = &skel->bss->counts;
	printf("{\"walked\":%llu,\"recognised\":%llu,\"mistaken\":%llu}\n", c->walked,
	       c->recognised, c->mistaken);
	return 0;
}
