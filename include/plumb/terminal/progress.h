/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * progress: what long work is at, in one line on stderr, if it is a terminal.
 *
 * The line appears after half a second of work and changes at most ten times a second.  Each
 * message (log.h) removes it first.
 */
#pragma once

#include <stdint.h>

/* Shows "TOOL: WHAT DONE of N".  Takes some ns if nothing is due, so that loops may call it. */
void plumb_progress(const char *what, uint64_t done, uint64_t n);
/* The same at once, before work on N that cannot call it: "TOOL: WHAT N at once"; if N is large. */
void plumb_progress_at_once(const char *what, uint64_t n);
/* The work is done: removes the line. */
void plumb_progress_end(void);
