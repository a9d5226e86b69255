/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rows: what programs did and missed between two censuses, and who kept whom from running. */
#ifndef ROWS_H
#define ROWS_H

#include "census.h"

/*
 * While a program runs on a CPU its guard is held there, and what is skipped for it is missed:
 * the program itself, or all that share the guard.
 */
enum guard {
	GUARD_NONE,   /* nothing is skipped */
	GUARD_OWN,    /* raw tracepoints and fentry's kind: one a program */
	GUARD_SHARED, /* kprobes, tracepoints and perf events: one for all */
};

struct misses {
	bool known;
	uint64_t now;  /* in the interval */
	uint64_t ever; /* since the program was loaded, the link made */
};

struct row {
	const struct program *program;
	const struct attachment *links;
	size_t n_links;
	enum guard guard;
	bool can_miss_links; /* does what it is attached by count misses of its own? */
	uint64_t runs, run_time;
	struct misses recursion, link;
};

/* The shared guard's interval. */
struct guard_use {
	size_t members;
	bool known; /* are the misses of all members? */
	uint64_t run_time, missed;
	const struct row *holder; /* who ran longest in it; NULL: nobody ran */
};

struct rows {
	struct row *all; /* what took most of a CPU first */
	size_t n;
	size_t gone;      /* programs that ended in the interval: their runs are not told */
	uint64_t elapsed; /* ns */
	struct guard_use shared;
};

/*
 * The rows of what came between BEFORE and NOW, which they point into.  COUNTED: does this kernel
 * count misses of kprobes and tracepoints?  0 or -ENOMEM.
 */
int rows_make(struct rows *r, const struct census *now, const struct census *before, bool counted);
void rows_free(struct rows *r);

/* Has anything to be said of it, in a table? */
bool row_is_idle(const struct row *row);
/* Its part of one CPU, and of the time that its guard was held. */
double row_cpu_percent(const struct rows *r, const struct row *row);
double row_held_percent(const struct rows *r, const struct row *row);
/* Which part of what should have run was missed. */
double row_missed_percent(const struct row *row);

#endif
