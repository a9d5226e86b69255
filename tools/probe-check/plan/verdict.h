/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verdict: the result of checking a target. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/targets.h"

enum verdict {
	VERDICT_UNKNOWN,
	VERDICT_OK,
	VERDICT_NO_BTF,
	VERDICT_DUPLICATED,
	VERDICT_DIFFERENT, /* duplicated, with different arguments */
	VERDICT_GONE,
	VERDICT_RENAMED,
	VERDICT_BLACKLISTED,
	VERDICT_NOTRACE,
	VERDICT_INLINED,
	VERDICT_PARTLY_INLINED,
	VERDICT_MAYBE_INLINED,
	VERDICT_SILENT,
	VERDICT_REFUSED, /* this kernel refuses all hooks of its kind */
};

const char *verdict_word(enum verdict verdict);
bool verdict_fails(enum verdict verdict);

struct check {
	struct target target;
	bool asked; /* named on the command line, not only by a tool */
	enum verdict verdict;
	char why[1024]; /* the reason and what to do, without the last full stop */
	/* Numbers of calls, of functions where they could be counted. */
	bool has_inlined, has_direct;
	size_t inlined, direct;
	/* --live */
	bool live;
	uint64_t fires;
	char obstacle[256]; /* why --live could not attach */
};

/* Set the verdict and its reason. */
void check_judge(struct check *c, enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Append to the reason, after "; ". */
void check_add(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Add to the verdict what C->fires in SECONDS mean.  C->live and C->fires are set before. */
void check_judge_fires(struct check *c, double seconds);
