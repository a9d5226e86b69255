/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* targets: what is counted, numbered from 0: kernel functions, tracepoints, user functions. */
#ifndef TARGETS_H
#define TARGETS_H

#include <plumb/functions.h>
#include <plumb/tracepoints.h>
#include <plumb/userfuncs.h>
#include <stdbool.h>
#include <stddef.h>

/* More take more memory and time than a survey is worth. */
#define MAX_TARGETS 16384

enum target_kind { TARGET_FUNCTION, TARGET_TRACEPOINT, TARGET_USER, TARGET_KINDS };

struct targets {
	struct plumb_functions functions;
	struct plumb_tracepoints tracepoints;
	struct plumb_userfuncs *files; /* each file once */
	size_t n_files;
	size_t n; /* of all kinds */
};

/* By what it begins with: "t:", "u:", or a kernel function. */
enum target_kind target_kind(const char *pattern);

/* What is wrong with its form, to go before the pattern in a message; NULL: nothing. */
const char *target_flaw(const char *pattern);

/* 0, or -errno after saying what is wrong; FOUND is empty then. */
int targets_find(struct targets *found, const char *const *patterns, size_t n, const char *btf);
void targets_free(struct targets *targets);

enum target_kind targets_kind(const struct targets *targets, size_t i);

/* The number of the first function of a file. */
size_t targets_first_of(const struct targets *targets, size_t file);

/*
 * "tcp_sendmsg", "t:sched:sched_switch", "u:libc.so.6:malloc"; with WHOLE a user
 * function has its file's path.  Returns TEXT.
 */
const char *targets_name(const struct targets *targets, size_t i, bool whole, char *text,
			 size_t size);

#endif
