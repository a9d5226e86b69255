/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cpus: CPUs that go online or offline while programs are attached to perf events of each CPU. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Kernels for one CPU lack the tracepoint of the program cpu_leaves (cpus.bpf.h). */
bool plumb_cpus_can_leave(void);

/* LEFT: plumb_cpus_left of the object that is traced with. */
void plumb_cpus_use(volatile uint8_t *left);
/* Called where events are opened on each CPU: from now on it matters whether CPUs come or go. */
void plumb_cpus_begin(void);
/* Called before another mechanism is tried, which may need no events of each CPU. */
void plumb_cpus_forget(void);

/* Whether CPU has gone offline since plumb_cpus_begin() or the last call for it. */
bool plumb_cpus_take_left(int cpu);
/* Whether a CPU may have come or gone since the last call. */
bool plumb_cpus_look(void);

/* Whether anybody looks, and whether one has come or gone: it had no perf events for some time. */
bool plumb_cpus_are_watched(void);
bool plumb_cpus_changed(void);

/* Called by a tool's finish(): events of such a CPU are missing, nobody knows how many. */
void plumb_cpus_note_lost(void);
bool plumb_cpus_have_lost(void);
