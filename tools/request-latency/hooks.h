/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hooks: which of its hooks this kernel has, and the functions that it probes where they are
 * missing. */
#pragma once

#include <stdbool.h>
#include <plumb/core/tool.h>

enum request_mode {
	REQUEST_TRACEPOINTS,
	REQUEST_RAW_TRACEPOINTS,
	REQUEST_FENTRY,
	REQUEST_KPROBE,
};

static inline bool request_mode_probes(int mode)
{
	return mode == REQUEST_FENTRY || mode == REQUEST_KPROBE;
}

extern struct request_hooks {
	const char *missing; /* a tracepoint of sockets; NULL: the kernel has them */
	bool early;          /* tcp_sendmsg_locked, from 6.16 on */
	bool says_locks;     /* contention_begin, from 5.19 on */
	bool allocates;      /* hash maps can allocate in programs, from 6.1 on */
} request_hooks;

/* From the kernel's types, or those in FILE unless it is NULL. */
void request_hooks_find(const char *file);

/* For plumb_mechanism.skipped, of raw tracepoints and of others. */
const char *request_has_no_tracepoints(void);
const char *request_needs_no_plain_tracepoints(void);

/*
 * Prepares the programs of BPF, which is opened, for the functions, whose names it adds to the N
 * hooks; the number of those that receive is in READS.  0 or -errno.
 */
int request_functions_prepare(struct plumb_bpf *bpf, size_t n, __u32 *reads);
