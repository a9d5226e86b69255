/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* inside: functions timed within system calls, -f. */
#pragma once

#include <plumb/bpf/key/key.h>

/*
 * A row of a function has a histogram of its calls' times; the ns of its own, without those of the
 * functions that it called (counters[0], signed); and the ns of its calls that are not inside
 * another call of the same function (counters[1]).
 */
struct breakdown_function_key {
	struct plumb_who who;
	__u32 function; /* its number: the functions of the system calls come first */
	__u32 pad;
};

struct breakdown_inside {
	__u32 n_calls;
};

#ifndef __bpf__
#include <plumb/bpf/syscall/syscall.h>
#include <plumb/core/tool.h>
#include <plumb/functions/timed-functions.h>

/* Adds a function of -f; exits if there are too many. */
void inside_add(const char *glob);
/* Return whether -f was given. */
bool inside_is_asked(void);

/*
 * Turn TOOL, which takes samples, into one that times functions inside the calls of SELECTION.  It
 * keeps its name and its options, and these can still change SELECTION.
 */
void inside_become(struct plumb_tool *tool, const struct syscall_config *selection);

/* STATUS is main()'s: if functions cannot be timed, point out the mode without -f. */
void inside_hint(int status);
#endif
