/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* inside: functions timed within system calls, -f. */
#ifndef INSIDE_H
#define INSIDE_H

#include <plumb/key.h>

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
#include <plumb/rungs.h>
#include <plumb/syscall.h>
#include <plumb/tool.h>

/* -f: another list of functions. */
void inside_option(const char *list);
/* Was there one? */
bool inside_is_asked(void);

/* For many functions, and for a few. */
#define INSIDE_RUNGS     6
#define INSIDE_RUNGS_FEW 5
extern const struct plumb_rung inside_many[INSIDE_RUNGS], inside_few[INSIDE_RUNGS_FEW];

/* Makes it a tool that times functions within the calls of SELECTION. */
int inside_prepare(struct plumb_tool *tool, const struct syscall_config *selection,
		   struct plumb_options *o);

/* With main()'s status: where no function can be timed the tool still has another way. */
void inside_hint(int status);
#endif

#endif
