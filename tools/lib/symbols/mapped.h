/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mapped: code that processes have mapped since the trace began, as the kernel reported it when
 * they did, for those that were gone before /proc/PID/maps could be read.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include <plumb/symbols/maps.h>

struct plumb_mapped;

/* Opens an event on each CPU that is online; NULL: the kernel refuses.  Owned by the caller. */
struct plumb_mapped *plumb_mapped_open(void);
void plumb_mapped_free(struct plumb_mapped *m);
/* Takes what the kernel has reported; returns for how many reports it had no room. */
uint64_t plumb_mapped_take(struct plumb_mapped *m);
/*
 * Of the program that a process executes; of all that it has executed; what it has from the process
 * from which it was forked.  What that one had before the trace is read from /proc.
 */
enum plumb_mapped_which { PLUMB_MAPPED_NOW, PLUMB_MAPPED_EXECUTED, PLUMB_MAPPED_INHERITED };

/* Calls EACH for every area of code that process PID had, each once, the latest last. */
void plumb_mapped_of(struct plumb_mapped *m, pid_t pid, enum plumb_mapped_which which,
		     int (*each)(void *context, struct plumb_vma *vma), void *context);
/* Whether PID has mapped code since this was asked last. */
bool plumb_mapped_has_changed(struct plumb_mapped *m, pid_t pid);
/* Which process forked PID; 0: not known. */
pid_t plumb_mapped_parent(const struct plumb_mapped *m, pid_t pid);
