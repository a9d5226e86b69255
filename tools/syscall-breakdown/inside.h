/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* inside: functions timed within system calls, -f. */
#ifndef INSIDE_H
#define INSIDE_H

#include <plumb/bpf/key/key.h>

/*
 * Rows: of a function, its calls and their times as a histogram; ns of its own, without
 * those of the functions that it called (extra[0], signed); and ns of the calls that are
 * not inside another of the same function (extra[1]).
 */
struct breakdown_function_key {
	struct plumb_who who;
	__u32 function; /* its number: the system calls' own come first */
	__u32 pad;
};

struct breakdown_inside {
	__u32 n_calls;
};

#ifndef __bpf__
#include <plumb/mechanism/functions.h>
#include <plumb/bpf/syscall/syscall.h>
#include <plumb/tool/tool.h>

/* -f: another list of functions. */
void inside_option(const char *list);
/* Was there one? */
bool inside_is_asked(void);

/*
 * Makes TOOL one that times functions within the calls of SELECTION, which options may
 * still change: of the tool that takes samples it keeps the name and the options.
 */
void inside_become(struct plumb_tool *tool, const struct syscall_config *selection);

/* With main()'s status: where no function can be timed the tool still has another way. */
void inside_hint(int status);
#endif

#endif
