/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* account: where the time of all threads went, as parts that add up to it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/core/report.h>
#include <plumb/stacks/flame.h>
#include <plumb/syscalls/peers.h>

#include "causes.h"

struct part {
	enum cause cause;
	enum work work;
	bool idle;     /* threads wait for work there (wall-time(8), IDLE THREADS) */
	uint32_t what; /* the system call and its operation, as in plumb_stack_key.what */
	uint32_t device;
	const struct quota *quota; /* that was used up; NULL: not known */
	const char *place;         /* a function, of the kernel but for CAUSE_USER; "": none */
	const char *peer;          /* what its socket is connected to (peers.h); "": not known */
	struct plumb_peer process; /* of this machine, which has that end */
	struct wall_other other;   /* who woke it, or had the CPU; its tid only if of the process */
	char comm[PLUMB_COMM_LEN]; /* of the threads */
	/* The functions with which they, and the other thread, were started; "": not known. */
	const char *start, *other_start;
	uint32_t pid;
	uint32_t tid; /* 0: of several */
	int64_t ns;
	struct plumb_meanwhile waiter; /* of one thread that lacked a CPU; kind 0: not known */
	uint64_t count;                /* times; samples of time on the CPU */
	size_t threads;
	const struct plumb_stack_key *stack; /* of one stack, until parts are joined; NULL: none */
};

struct head;

struct account {
	struct part *parts; /* largest first, idle ones last */
	size_t n;
	int64_t ns, idle;          /* of all threads */
	size_t threads, programs;  /* by name */
	char comm[PLUMB_COMM_LEN]; /* that with the most time, */
	int64_t most;              /* ns */
	uint32_t pid;              /* of all; 0: of several */
	struct head *heads;
	size_t n_heads;
	char neighbour[128];          /* of the disk that was waited for most, in I/O; "": none */
	bool counts;                  /* parts count samples */
	bool is_crowded;              /* rows are scarce: wakers are not told for all of the time */
	struct plumb_weighed *stacks; /* for a flame graph (stacks/flame.h) */
	size_t n_stacks;
};

/*
 * The account of a report.  BEGAN: when the trace did.  ALL_WAITS: threads that wait for work are
 * not told from others.
 */
void account_make(struct account *a, const struct plumb_report *r, uint64_t began, bool all_waits);
void account_free(struct account *a);

/* The thread for which the threads of a part wait (heads.h); NULL: not known. */
const struct head *account_head(const struct account *a, const struct part *p);
