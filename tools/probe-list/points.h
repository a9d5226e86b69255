/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* points: the probe points of this kernel, and of files that were named. */
#ifndef POINTS_H
#define POINTS_H

#include <plumb/kernel/declare.h>
#include <plumb/kernel/functions.h>
#include <plumb/attach/probe.h>
#include <plumb/kernel/tracepoints.h>
#include <plumb/elf/usdt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum family { SYSCALL, TRACEPOINT, RAW_TRACEPOINT, FUNCTION, USER_FUNCTION, USDT, FAMILIES };

#define ALL_OF_KERNEL (1 << SYSCALL | 1 << TRACEPOINT | 1 << RAW_TRACEPOINT | 1 << FUNCTION)

struct family_info {
	const char *name;
	const char *prefix; /* of its points' names, without the colon */
	const char *stability;
	enum plumb_hook hooks[5]; /* that its points may have; ended by PLUMB_HOOK_NONE */
};

extern const struct family_info families[FAMILIES];

struct point {
	enum family family;
	char *name;         /* "k:nf_tables:nft_do_chain" */
	unsigned int hooks; /* that it has, as bits 1 << enum plumb_hook */
	size_t n;   /* that have this name: functions, places of a probe, events of a call */
	bool taken; /* it is to be listed */

	/* What tells its arguments: events at entry and at exit of a call; a tracepoint's; */
	const struct plumb_tracepoint *events[2];
	const struct plumb_function *function;
	/* a raw tracepoint's function prototype; */
	const struct btf *btf;
	uint32_t prototype;
	const struct plumb_usdt *usdt;
};

struct points {
	struct point *list; /* by family and name, once all are read */
	size_t n, room;
	unsigned int unknown; /* families that could not be read: bits 1 << enum family */

	/* What they are made of. */
	int tracefs; /* -1: there is none */
	struct plumb_tracepoints events;
	struct plumb_functions functions;
	struct btf **types; /* the kernel's first, then its modules' */
	size_t n_types;
	struct plumb_usdts *usdts;
	size_t n_usdts;
	struct plumb_declarer declarer;
};

/* Adds a point whose NAME it takes; -ENOMEM after saying so, also where NAME is NULL. */
int points_add(struct points *p, enum family family, char *name, const struct point *like);
void points_sort(struct points *p);
void points_free(struct points *p);

/*
 * Read what the kernel has of these families (bits 1 << enum family).  What it does
 * not let us see is said.  0, or -errno.
 */
int points_read_events(struct points *p, unsigned int wanted);
int points_read_raw_tracepoints(struct points *p);
int points_read_functions(struct points *p);

/* Those of "u:FILE:GLOB" or "usdt:FILE:PROVIDER:GLOB", taken already; 0, or -errno after saying
 * why. */
int points_read_user(struct points *p, const char *pattern);
int points_read_usdt(struct points *p, const char *pattern);

#endif
