/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PLUMB_CONFINE_CALLS_H
#define PLUMB_CONFINE_CALLS_H

#include <stddef.h>
#include <sys/types.h>

/* Appends what CALLS allows to TEXT, after a comma: "bpf(2) to read maps". */
void plumb_calls_name(unsigned int calls, char *text, size_t size);

/*
 * Loads the filter for this thread, where PLUMB_CALLS_SIGNAL is of the process TO, or if it
 * is 0 of those whose pidfds are open; 1: this kernel has no filters; or -errno.
 */
int plumb_calls_filter(unsigned int calls, pid_t to);

#endif
