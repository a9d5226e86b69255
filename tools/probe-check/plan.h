/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* plan: the targets that are to be checked, each once, and the tools that they are for. */
#ifndef PLAN_H
#define PLAN_H

#include "refusals.h"
#include "verdict.h"

#define MAX_CHECKS 256
#define MAX_TOOLS  32

struct plan {
	struct check checks[MAX_CHECKS];
	size_t n;
	const char *tools[MAX_TOOLS];
	size_t n_tools;
	struct refusals refused; /* of the running kernel */
};

/* Wrong targets and tools end the process with status 2. */
void plan_add_target(struct plan *p, const char *text);
void plan_add_tool(struct plan *p, const char *name);

/* What our tools hook of one kind, each once, as targets' names; how many of MAX. */
size_t plan_known(enum target_kind kind, struct target *targets, size_t max);

/* Of a tool's targets: do those pass that it always takes, and those of one of its mechanisms? */
bool plan_tool_holds(const struct plan *p, const char *tool);
/* They do not, but would if those passed that could not be judged. */
bool plan_tool_is_unknown(const struct plan *p, const char *tool);
/* Do those of one line, and is one of its mechanisms not refused? */
bool plan_line_holds(const struct plan *p, const struct tool_line *line);
bool plan_targets_hold(const struct plan *p, const struct tool_line *line);

/* Of a line's mechanisms, which this kernel refuses, or which not: "fsession, kprobe"; returns
 * TEXT. */
const char *plan_mechanisms(const struct plan *p, const struct tool_line *line, bool refused,
			    char *text, size_t size);

/* Does it name functions that are its user's choice? */
bool tool_line_is_open(const struct tool_line *line);
bool tool_line_is_for_all(const struct tool_line *line);

void plan_free(struct plan *p);

#endif
