/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* switches: what the tools that see context switches share. */
#ifndef PLUMB_SWITCHES_H
#define PLUMB_SWITCHES_H

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

#endif
