/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flame: a flame graph of stacks whose weights the tool itself finds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/stack/stacks.h>

struct plumb_report;

struct plumb_weighed {
	const struct plumb_stack_key *key;
	const char *outer; /* the outermost frame, above those of the stack */
	const char *inner; /* the innermost frame; NULL: that of the stack */
	uint64_t weight;   /* ns */
};

/*
 * Checks before the trace that PATH can be written, as far as possible; NULL: there is no graph. 0,
 * or -errno after a message.
 */
int plumb_flame_check(const char *path, bool only_words);

/* Writes or replaces PATH atomically (atomic-file.h).  0, or -errno after a message. */
int plumb_flame_weighed(const struct plumb_report *r, const char *path,
			const struct plumb_weighed *all, size_t n);
