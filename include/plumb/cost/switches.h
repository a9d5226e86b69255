/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* switches: makes context switches, to calibrate tools that trace them. */
#ifndef PLUMB_SWITCHES_H
#define PLUMB_SWITCHES_H

#include <stdbool.h>

struct plumb_switches {
	/* Pins this thread to its CPU and starts a partner thread there; false: not possible. */
	bool (*begin)(void);
	/* This thread leaves the CPU once, and so does its partner. */
	void (*make)(void);
	void (*end)(void);
};

/* Only tools that refer to it are linked with pthreads. */
extern const struct plumb_switches plumb_switches;

#endif
