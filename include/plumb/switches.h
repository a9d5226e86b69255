/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* switches: what the tools that see context switches share. */
#ifndef PLUMB_SWITCHES_H
#define PLUMB_SWITCHES_H

#include <plumb/kernel.h>
#include <stdbool.h>

struct plumb_switches {
	/* Takes this thread to one CPU, with a partner; false where that cannot be. */
	bool (*begin)(void);
	/* This thread leaves the CPU once, and its partner once. */
	void (*make)(void);
	void (*end)(void);
};

/* Threads are linked into tools only that name it. */
extern const struct plumb_switches plumb_switches;

/* The rung of programs made by AWAY_PROGRAMS() and opened by OPEN. */
extern const char *const plumb_away_programs[];
#define PLUMB_AWAY_RUNG(open_)                                                                     \
	{                                                                                          \
		.name = "raw_tracepoint", .stability = PLUMB_SCHED_STABILITY, .open = open_,       \
		.programs = plumb_away_programs,                                                   \
	}

#endif
