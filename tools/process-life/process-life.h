/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of process-life. */
#pragma once

#include <plumb/bpf/key/key.h>

/* Keys that the tool adds to --by. */
#define LIFE_BY_STATUS    (PLUMB_BY_TOOL << 0)
#define LIFE_BY_PARENT    (PLUMB_BY_TOOL << 1)
#define LIFE_BY_ARGUMENTS (PLUMB_BY_TOOL << 2)

struct life_key {
	struct plumb_who who; /* the last thread; .process is the program */
	__u32 status;         /* as of wait(2) */
	__u32 pad;
	char parent[PLUMB_COMM_LEN];
	__u64 arguments; /* their number in life_texts; 0: they are not known */
};
_Static_assert(sizeof(struct life_key) == 88, "no hidden padding in a hash key");

/* plumb_totals.counters, ns: the CPU time, and what the kernel says of user and system time. */
enum { LIFE_CPU, LIFE_USER, LIFE_SYSTEM };

/* On one CPU. */
struct life_counts {
	__u64 began, executed, threads; /* by traced threads */
	__u64 before;                   /* recorded, and had begun before the trace */
	__u64 kept;                     /* recorded, and in life_ended */
	__u64 known;                    /* of these: their CPU time is in their row */
	__u64 unread;                   /* of these: it never can be */
	__u64 unkept;                   /* recorded, and there was no room */
};
_Static_assert(sizeof(struct life_counts) == 64, "one cache line a CPU");

/* Processes that have ended and whose CPU time is in no row yet; that of those beyond is lost. */
#define LIFE_ENDED 65536

/* The arguments of a program, each with a NUL behind it: the first bytes of them. */
#define LIFE_ARGUMENTS 200
#define LIFE_TEXTS     4096 /* different ones */

struct life_text {
	__u64 size; /* in bytes, of all; 0: they could not be read */
	char bytes[LIFE_ARGUMENTS];
};
