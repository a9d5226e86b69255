/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * policy: what the administrator demands of every tool, in /etc/plumb/policy.
 *
 * Lines of NAME=VALUE; what follows a # at the beginning of a line is a comment.  A file that is
 * not understood as a whole, or that others than root could have written, permits nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/core/part.h>
#include <plumb/core/reasons.h>

/* Reads the file, if there is one.  Returns 0, or -errno after a message. */
int plumb_policy_read(void);

/* Where records go (audit-parts.h); NULL: the policy does not demand any. */
const char *plumb_policy_sink(void);
/* ns; 0: no limit. */
uint64_t plumb_policy_max_duration(void);
/* Says so if a trace of DURATION ns will end earlier. */
void plumb_policy_check_duration(uint64_t duration);

/* Whether the tool is forbidden; if so, after a message. */
bool plumb_policy_forbids_tool(const char *tool);

/* Whether targets are forbidden at all, so that their names matter. */
bool plumb_policy_has_targets(void);
/* Whether the target NAME is, as probe-list prints it ("k:tcp_sendmsg"). */
bool plumb_policy_forbids_target(const char *name);
/* Whether targets in files may be (u: and usdt:), so that the names of files matter. */
bool plumb_policy_has_files(void);
/* The glob of number I; NULL: there are no more. */
const char *plumb_policy_target_at(size_t i);
/* Counts as forbidden by the first such line: the names of the file cannot be known. */
void plumb_policy_forbid_files(void);
/* The line that forbade a target last: ", forbidden by /etc/plumb/policy:3: forbid-target=k:*". */
const char *plumb_policy_reason(void);
