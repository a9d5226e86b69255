/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tracepoint: a program on the tracepoint that its section names, by a perf event. */
#pragma once

#include <stdint.h>

struct bpf_link;
struct bpf_program;
struct perf_event_attr;

/* Attaches P where its section says, under the name that the kernel has (renamed.h). */
struct bpf_link *plumb_probe_attach_section(const struct bpf_program *p);
/*
 * Attaches P by its section "tp/CATEGORY/NAME".  libbpf cannot do this where tracefs is not
 * mounted.  NULL and errno on failure.
 */
struct bpf_link *plumb_probe_attach_tracepoint(const struct bpf_program *p);

/* Opens an event of all threads on CPU; its descriptor or -errno (-ENODEV: the CPU is offline). */
int plumb_probe_open_event(const struct perf_event_attr *attr, int cpu);
/* ID is that of tracefs' events/CATEGORY/NAME/id. */
int plumb_probe_open_tracepoint(uint32_t id);
