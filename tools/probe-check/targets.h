/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* targets: what is to be checked, as it is typed and as our tools' own lists have it. */
#ifndef TARGETS_H
#define TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum target_kind {
	TARGET_FUNCTION,
	TARGET_TRACEPOINT,
	TARGET_RAW_TRACEPOINT,
	TARGET_SYSCALL,
	TARGET_USER,
	TARGET_USDT
};

struct target {
	enum target_kind kind;
	char *text; /* all of it */
	/* By kind: MODULE:FUNC or FUNC; CATEGORY and EVENT; NAME; NAME; FILE and FUNC; FILE and
	 * PROVIDER:NAME. */
	char *file;      /* or category; NULL: the kind has none */
	char *name;      /* "*" and "[" in that of a user function are its own, as Go has them */
	uint64_t offset; /* into a user function */
};

/* 0; -ENOMEM; or -EINVAL with *FLAW, words on the form that it should have. */
int target_parse(const char *text, struct target *target, const char **flaw);
void target_free(struct target *target);

/* What one of our tools hooks on some of its mechanisms; one line of its NAME.targets. */
struct tool_line {
	const char *tool;
	const char *mechanisms; /* "fsession, fentry", or "all" */
	const char *targets;    /* by blanks; "*" is what the tool's user names */
};

extern const struct tool_line tool_lines[];
extern const size_t n_tool_lines;

bool tool_is_known(const char *name);
/* The tools, for a message. */
void tools_list(char *text, size_t size);

#endif
