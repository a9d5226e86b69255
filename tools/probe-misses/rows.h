/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rows: runs and misses of programs between two censuses, and which program caused the misses. */
#pragma once

#include "census.h"

/*
 * While a program runs on a CPU, its guard is held there.  Meanwhile the kernel skips the program
 * on this CPU, or all programs that share the guard.  What it skips is missed.
 */
enum guard {
	GUARD_NONE,   /* nothing is skipped */
	GUARD_OWN,    /* one per program: raw tracepoints, fentry and its like */
	GUARD_SHARED, /* one for all: kprobes, tracepoints and perf events */
};

struct misses {
	bool known;
	uint64_t now;  /* in the interval */
	uint64_t ever; /* since the program was loaded, or the link was created */
};

struct row {
	const struct program *program;
	const struct attachment *links;
	size_t n_links;
	enum guard guard;
	bool can_miss_links; /* its links count misses of their own */
	uint64_t runs, run_time;
	struct misses recursion, link;
};

/* Use of the shared guard in the interval. */
struct guard_use {
	size_t members;
	bool known; /* the misses of all members are counted */
	uint64_t run_time, missed;
	const struct row *holder; /* the member that ran longest; NULL: none ran */
};

struct rows {
	struct row *all; /* sorted by run time, the longest first */
	size_t n;
	size_t gone;      /* programs unloaded in the interval, whose runs are not known */
	uint64_t elapsed; /* ns */
	struct guard_use shared;
};

/*
 * Make the rows of the time from BEFORE to NOW; they point into NOW.  COUNTED: this kernel counts
 * misses of kprobes and tracepoints.  0 or -ENOMEM.
 */
int rows_make(struct rows *r, const struct census *now, const struct census *before, bool counted);
void rows_free(struct rows *r);

/* Return whether it neither ran in the interval nor ever missed anything. */
bool row_is_idle(const struct row *row);
/* Its share of one CPU, and of the time that the shared guard was held. */
double row_cpu_percent(const struct rows *r, const struct row *row);
double row_held_percent(const struct rows *r, const struct row *row);
/* The share of its executions that was missed, by recursion. */
double row_missed_percent(const struct row *row);
