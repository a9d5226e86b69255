/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* user func: what the files of user-func-latency share. */
#pragma once

#include <plumb/bpf/function/function.h>
#include <plumb/core/tool.h>
#include <plumb/functions/probe.h>
#include <plumb/user/builds.h>

/* Set by the tool before a mechanism is tried. */
struct user_func {
	struct plumb_targets targets; /* user functions only */
	struct plumb_arg arg;
	__u64 min_ns;
	bool only_errors, errors, on_cpu;
	struct plumb_builds_use use; /* its purpose: whether return instructions are probed */
	bool go;                     /* the files are Go programs */
	bool asks;           /* whether return instructions do what was asked of return probes */
	const char *fragile; /* why return probes might break the program; NULL: they do not */
	const char *broken;  /* why they would: they are refused; NULL: not known to */
	const struct plumb_options *options;
};

extern struct user_func user_func;

/* Why return probes are refused for Go programs. */
#define USER_FUNC_GO_STACKS_MOVE "a Go program's stacks move: a return probe would end it"

/* --- mechanisms.c: the programs, and how they are attached to the targets --- */

/* Cheapest first. */
#define USER_FUNC_MECHANISMS 5
extern const struct plumb_mechanism user_func_mechanisms[USER_FUNC_MECHANISMS];

/* Whether the mechanism so named places probes on return instructions. */
bool user_func_is_at_returns(const char *mechanism);

/* struct plumb_tool_overhead.calibrate: measures calls of a function of the tool's own. */
void user_func_calibrate(struct plumb_run *run);

/* --- targets.c: the functions that can be timed, by their files and by their returns --- */

/*
 * struct plumb_builds_use.opened: sets in user_func whether the opened files are Go programs,
 * whether exceptions may leave their functions, and whether return instructions are probed. Returns
 * 0, or -errno after a message: the options, or the files, do not go together.
 */
int user_targets_look(void);

/* An error of the mechanism that was asked for; others would not end the program. */
int user_targets_refuse(void);

/* struct plumb_builds_use.check: functions without a return are unwanted; an error if all are. */
int user_targets_check(struct plumb_userfuncs *found);
