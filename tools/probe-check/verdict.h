/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verdict: what may be said of a target, and what it was said of. */
#ifndef VERDICT_H
#define VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "targets.h"

enum verdict {
	VERDICT_UNKNOWN,
	VERDICT_OK,
	VERDICT_NO_BTF,
	VERDICT_DUPLICATED,
	VERDICT_DIFFERENT, /* duplicated, and the arguments are not the same */
	VERDICT_GONE,
	VERDICT_RENAMED,
	VERDICT_BLACKLISTED,
	VERDICT_NOTRACE,
	VERDICT_INLINED,
	VERDICT_PARTLY_INLINED,
	VERDICT_MAYBE_INLINED,
	VERDICT_SILENT,
};

const char *verdict_word(enum verdict verdict);
bool verdict_fails(enum verdict verdict);

struct check {
	struct target target;
	bool asked; /* on the command line: else by a tool */
	enum verdict verdict;
	char why[1024]; /* what it means and what to do, sentences without the last full stop */
	/* Calls, where they could be counted: of functions. */
	bool has_inlined, has_direct;
	size_t inlined, direct;
	/* --live */
	bool live;
	uint64_t fires;
	char obstacle[256]; /* why it could not be tried */
};

/* Sets the verdict, and the words. */
void check_judge(struct check *c, enum verdict verdict, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* One more sentence. */
void check_add(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What the fires of so many seconds say, C->fires and C->live being set. */
void check_judge_fires(struct check *c, double seconds);

#endif
