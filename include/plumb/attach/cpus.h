/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cpus: CPUs that go online or offline while programs are attached to perf events of each CPU. */
#ifndef PLUMB_ATTACH_CPUS_H
#define PLUMB_ATTACH_CPUS_H

#include <stdbool.h>
#include <stdint.h>

/* Kernels for one CPU lack the tracepoint of the program cpu_leaves (cpus.bpf.h). */
bool plumb_cpus_can_leave(void);

/* Called when the programs are attached.  LEFT: plumb_cpu_left of their object, NULL: not loaded.
 */
void plumb_cpus_begin(const uint32_t *left);
/* Called before another mechanism is tried, which may need no events of each CPU. */
void plumb_cpus_forget(void);
/*
 * Whether a CPU has come or gone since plumb_cpus_begin(): it had, or has, no perf events for some
 * time.  False if it was not called.
 */
bool plumb_cpus_changed(void);

/* Called by a tool's finish(): events of such a CPU are missing, nobody knows how many. */
void plumb_cpus_note_lost(void);
bool plumb_cpus_have_lost(void);

#endif
