/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* access: the kinds of hooks that this kernel allows, and why it refuses the others. */
#pragma once

#include "targets.h"

struct access {
	enum plumb_hook hook;
	bool open;
	char why[160]; /* the reason if it is not open */
};

/*
 * Try the hooks for these kinds of targets (bits 1 << enum kind).  TRACEFS -1: there is none, so
 * tracepoints are closed.
 */
void access_try(unsigned int wanted, int tracefs);

/* Warn of each closed hook, with the reason. */
void access_say_closed(void);

/* The result of a hook; NULL: it was not tried. */
const struct access *access_of(enum plumb_hook hook);
