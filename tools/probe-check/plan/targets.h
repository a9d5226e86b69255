/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* targets: parse targets, and the lists of what plumb's tools hook. */
#pragma once

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
	char *file;      /* or category; NULL: not in this kind */
	char *name;      /* in user functions "*" and "[" are literal, since Go has such names */
	uint64_t offset; /* into a user function */
};

/* 0, -ENOMEM, or -EINVAL; then *FLAW describes the expected form. */
int target_parse(const char *text, struct target *target, const char **flaw);
void target_free(struct target *target);

/* What a tool of plumb hooks with some of its mechanisms: a line of its NAME.targets. */
struct tool_line {
	const char *tool;
	const char *mechanisms; /* "fsession, fentry", or "all" */
	const char *targets;    /* separated by blanks; "*" stands for what the tool's user names */
};

extern const struct tool_line tool_lines[];
extern const size_t n_tool_lines;

bool tool_is_known(const char *name);
/* List the tools in TEXT, for a message. */
void tools_list(char *text, size_t size);
