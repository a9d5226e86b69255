/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tail: slow system calls without programs at all of them (bpf/syscall/syscall-tail.bpf.h). */
#pragma once

#include <stdint.h>
#include <plumb/core/tool.h>

/* The option, and what it was given. */
struct plumb_tail {
	__u64 min_ns; /* 0: it was not given */
	bool given;
};
extern struct plumb_tail plumb_tail;

#define PLUMB_OPTION_TAIL                                                                          \
	{                                                                                          \
		"tail", 0, "TIME",                                                                 \
			"calls of at least TIME, without programs at calls: the least and the "    \
			"most that they took",                                                     \
			30, .time = &plumb_tail.min_ns, .given = &plumb_tail.given                 \
	}

/*
 * In complete(): makes TOOL one that traces by OPEN, if the option was given, and whose reports say
 * so.  What asks for the result of a call is wrong usage then.
 */
void plumb_tail_complete(struct plumb_tool *tool, struct plumb_options *o,
			 int (*open)(struct plumb_bpf *bpf, bool calibration));

/*
 * In OPEN, after all else, with the programs' syscall_config, plumb_cpus_left and tail_undecided: 0
 * or -errno, after a message if this kernel does not show what it takes.
 */
int plumb_tail_configure(struct plumb_bpf *bpf, bool calibration,
			 const volatile struct syscall_config *config, __u8 *cpus_left,
			 const __u64 *undecided);
