/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * targets: kernel functions, tracepoints, user functions and USDT probes to be probed, numbered
 * from 0.  A USDT probe is one target, however many places it has.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/tracepoints.h>
#include <plumb/user/userfuncs.h>

/* A limit on the memory of a trace, and on the time to attach and detach. */
#define PLUMB_MAX_TARGETS 16384

enum plumb_target_kind {
	PLUMB_TARGET_FUNCTION,
	PLUMB_TARGET_TRACEPOINT,
	PLUMB_TARGET_USER,
	PLUMB_TARGET_KINDS
};

struct plumb_targets {
	struct plumb_functions functions;
	struct plumb_tracepoints tracepoints;
	struct plumb_userfuncs *files; /* each once, and once more for its USDT probes */
	size_t n_files;
	size_t n;          /* of all kinds */
	size_t stepped[2]; /* user functions, by whether the kernel single-steps at their probes */
	/*
	 * For struct plumb_tool_overhead: of which user functions the cost is that is measured,
	 * which is of those where the kernel does not single-step, if there are any.
	 */
	const char *traced;
};

/* A target, by its kind: what is not of that kind is NULL. */
struct plumb_target {
	enum plumb_target_kind kind;
	const struct plumb_function *function;
	const struct plumb_tracepoint *tracepoint;
	const struct plumb_userfunc *userfunc;
};

/* By its prefix, "t:", "r:", "u:" or "usdt:"; otherwise a kernel function. */
enum plumb_target_kind plumb_target_kind(const char *pattern);

/* Returns what is malformed in PATTERN, to precede it in a message; NULL: nothing. */
const char *plumb_target_flaw(const char *pattern);

/*
 * Finds kernel functions and tracepoints; user functions are left to plumb_targets_add_userfuncs().
 * Returns 0, or -errno after a message, with FOUND empty.
 */
int plumb_targets_find(struct plumb_targets *found, const char *const *patterns, size_t n,
		       const char *btf);
/* Adds MORE, which it takes, and then counts all.  Returns 0, or -errno after a message. */
int plumb_targets_add_userfuncs(struct plumb_targets *targets, struct plumb_userfuncs *more);
int plumb_targets_count(struct plumb_targets *targets);
void plumb_targets_free(struct plumb_targets *targets);

struct plumb_target plumb_targets_at(const struct plumb_targets *targets, size_t i);

/* The number of the first function of a file. */
size_t plumb_targets_first_of(const struct plumb_targets *targets, size_t file);

/*
 * "tcp_sendmsg", "t:sched:sched_switch", "u:libc.so.6:malloc"; with WHOLE a user
 * function has its file's path.  Returns TEXT.
 */
const char *plumb_targets_name(const struct plumb_targets *targets, size_t i, bool whole,
			       char *text, size_t size);
