/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* block-hooks: the tracepoints of the block layer that this kernel has, and their arguments. */
#pragma once

#include <stdbool.h>
#include <plumb/bpf/block/request.h>

struct block_hooks {
	struct block_config config;
	bool has_merge;        /* block_rq_merge, from 5.11 on */
	bool preemptible;      /* a program can be preempted, and is then skipped for others */
	const char *throttles; /* the function that delays bios of throttled cgroups; NULL: none */
};

/* From the kernel's types, or those in FILE unless it is NULL; 0, or -errno after a message. */
int block_hooks_find(const char *file, struct block_hooks *hooks);
