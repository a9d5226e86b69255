/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* split: the names of the parts of a call's time. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <plumb/bpf/sched/split.h>
#include <plumb/core/tool.h>

struct plumb_tool;

struct plumb_part_name {
	const char *heading, *column, *json;
	unsigned int part;
};

/* The parts in the order in which they are printed, with their names. */
extern const struct plumb_part_name plumb_split_parts[PLUMB_ALL_PARTS];
/* The same, with what threads waited for on their way out of the call (sched/return.h). */
extern const struct plumb_part_name plumb_return_parts[PLUMB_RETURN_PARTS + 1];

/* Whether nobody looks for the part: it is none, not 0.  NO_RETURN: as in struct plumb_run. */
bool plumb_part_is_unseen(const struct plumb_tool *tool, const char *no_return,
			  const struct plumb_part_name *part);

extern const struct plumb_splitting plumb_splitting;
