/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* targets: what can be probed in this kernel and in named files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/functions/declare.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/probe.h>
#include <plumb/functions/traceability.h>
#include <plumb/functions/tracepoints.h>
#include <plumb/user/usdt.h>

enum kind { SYSCALL, TRACEPOINT, RAW_TRACEPOINT, FUNCTION, USER_FUNCTION, USDT, KINDS };

#define ALL_OF_KERNEL (1 << SYSCALL | 1 << TRACEPOINT | 1 << RAW_TRACEPOINT | 1 << FUNCTION)

struct kind_info {
	const char *name;
	const char *prefix; /* of its targets' names, without the colon */
	const char *stability;
	enum plumb_hook hooks[5]; /* that its targets may have; ended by PLUMB_HOOK_NONE */
};

extern const struct kind_info kinds[KINDS];

struct target {
	enum kind kind;
	char *name;         /* "k:nf_tables:nft_do_chain" */
	unsigned int hooks; /* that it can have: bits 1 << enum plumb_hook */
	size_t n;   /* number with this name: functions, places of a USDT probe, events of a call */
	bool taken; /* to be listed */

	/* Sources of its arguments: events at entry and exit of a call; a tracepoint's event; */
	const struct plumb_tracepoint *events[2];
	const struct plumb_function *function;
	/* a raw tracepoint's function prototype; */
	const struct btf *btf;
	uint32_t prototype;
	const struct plumb_userfunc *usdt;
};

struct targets {
	struct target *list; /* sorted by kind and name by targets_sort() */
	size_t n, room;
	unsigned int unknown; /* kinds that could not be read: bits 1 << enum kind */

	/* What the targets point to. */
	int tracefs; /* -1: there is none */
	struct plumb_tracepoints events;
	struct plumb_functions functions;
	struct btf **types; /* the kernel's first, then its modules' */
	size_t n_types;
	struct plumb_userfuncs *usdts;
	size_t n_usdts;
	struct plumb_declarer declarer;
};

/* Add a target like LIKE, with that NAME.  0, or -ENOMEM after a message. */
int targets_add(struct targets *p, enum kind kind, const struct target *like, const char *name, ...)
	__attribute__((format(printf, 4, 5)));
void targets_sort(struct targets *p);
void targets_free(struct targets *p);

/*
 * Read the kernel's targets of these kinds (bits 1 << enum kind).  Warn of what the kernel hides.
 * 0, or -errno.
 */
int targets_read_events(struct targets *p, unsigned int wanted);
int targets_read_raw_tracepoints(struct targets *p);
int targets_read_functions(struct targets *p);

/*
 * All functions of the kernel and the loaded modules, traceable or not, with their types: the
 * kernel's first, by name.  Returns 0, or -errno after a message.
 */
int functions_all(const struct plumb_lists *lists, struct plumb_functions *found);

/*
 * Add the targets of "u:FILE:GLOB" or "usdt:FILE:PROVIDER:GLOB", marked as taken.  0, or -errno
 * after a message.
 */
int targets_read_user(struct targets *p, const char *pattern);
int targets_read_usdt(struct targets *p, const char *pattern);
