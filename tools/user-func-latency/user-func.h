/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* user func: what the files of user-func-latency share. */
#pragma once

#include <plumb/bpf/function/function.h>
#include <plumb/core/tool.h>
#include <plumb/functions/probe.h>
#include <plumb/user/targets.h>
#include <plumb/user/userfuncs.h>

/* Set by the tool before a mechanism is tried. */
struct user_func {
	struct plumb_targets targets; /* user functions only */
	struct plumb_arg arg;
	__u64 min_ns;
	bool only_errors, errors, on_cpu;
	bool at_returns;     /* return instructions are probed */
	bool go;             /* the files are Go programs */
	bool asks;           /* whether return instructions do what was asked of return probes */
	bool may_retry;      /* with return instructions, if return probes would mislead */
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

/* Whether the mechanism of BPF is uprobe.session. */
bool user_func_has_sessions(const struct plumb_bpf *bpf);

/*
 * Attaches the programs of BPF to these functions, whose numbers begin at FIRST, of build number
 * BUILD; 0 or -errno.
 */
int user_func_attach(const struct plumb_bpf *bpf, struct plumb_probes *probes,
		     const struct plumb_userfuncs *functions, size_t first, size_t build,
		     char *what, size_t size);

/*
 * Attaches to where goroutines of the file FD, that of FUNCTIONS, end: calls that they are inside
 * then do not return.  Returns 0 or -errno, after a message if the place is not found.
 */
int user_func_attach_go_end(const struct plumb_bpf *bpf, struct plumb_probes *probes, int fd,
			    const struct plumb_userfuncs *functions, char *what, size_t size);

/* struct plumb_tool_overhead.calibrate: measures calls of a function of the tool's own. */
void user_func_calibrate(struct plumb_run *run);

/* --- targets.c: the functions that can be timed, by their files and by their returns --- */

/*
 * Sets in user_func whether the opened files are Go programs, whether exceptions may leave their
 * functions, and whether return instructions are probed.  Returns 0, or -errno after a message: the
 * options, or the files, do not go together.
 */
int user_targets_look(void);

/* An error of the mechanism that was asked for; others would not end the program. */
int user_targets_refuse(void);

/* struct plumb_builds_use.check: removes functions without a return; an error if none remains. */
int user_targets_check(struct plumb_userfuncs *found);
