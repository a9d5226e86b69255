/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* plan: the targets to be checked, without duplicates, and the tools that hook them. */
#pragma once

#include "plan/verdict.h"

#define MAX_CHECKS 256
#define MAX_TOOLS  32

/* The hooks that the running kernel refuses, found by trying each (hook-try.h). */
struct refusal {
	const char *mechanism; /* name as in --mechanism and in *.targets */
	unsigned int kinds;    /* of targets whose verdicts name it, 1 << kind each */
	char why[160];
};

struct refusals {
	struct refusal list[8];
	size_t n;
	bool tried;
};

struct plan {
	struct check checks[MAX_CHECKS];
	size_t n;
	const char *tools[MAX_TOOLS];
	size_t n_tools;
	struct refusals refused; /* hooks that the running kernel refuses */
};

/* A wrong target or tool is a usage error: exit with status 2. */
void plan_add_target(struct plan *p, const char *text);
void plan_add_tool(struct plan *p, const char *name);

/* Add what any tool hooks, but not the tools. */
void plan_add_all_tools(struct plan *p);

/*
 * Return whether the targets pass that the tool needs with every mechanism, and also those of at
 * least one mechanism.
 */
bool plan_tool_holds(const struct plan *p, const char *tool);
/* Return whether they do not pass, but would if all targets with the verdict unknown did. */
bool plan_tool_is_unknown(const struct plan *p, const char *tool);
/* Return whether a line's targets pass and at least one of its mechanisms is not refused. */
bool plan_line_holds(const struct plan *p, const struct tool_line *line);
bool plan_line_is_unknown(const struct plan *p, const struct tool_line *line);
bool plan_targets_hold(const struct plan *p, const struct tool_line *line);

/*
 * List in TEXT the mechanisms of a line that this kernel refuses (REFUSED) or does not refuse:
 * "fsession, kprobe".  Return TEXT.
 */
const char *plan_mechanisms(const struct plan *p, const struct tool_line *line, bool refused,
			    char *text, size_t size);

/* Return whether the tool's user chooses targets of this line ("*"). */
bool tool_line_is_open(const struct tool_line *line);
bool tool_line_is_for_all(const struct tool_line *line);

/* Try the hooks for targets of these kinds; with ALL also those that only tools' mechanisms use. */
void refusals_find(struct refusals *r, unsigned int kinds, bool all);

/* Return whether all hooks for targets of this kind are refused. */
bool refusals_have_all(const struct refusals *r, enum target_kind kind);

void plan_free(struct plan *p);
