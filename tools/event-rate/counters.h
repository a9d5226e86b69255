/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* counters: perf counters of events, one for each CPU and event. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "event-rate.h"
#include "events.h"

struct bpf_object;

/* Other events are trace targets. */
extern struct counters {
	struct event events[RATE_MAX_COUNTERS];
	uint32_t n;
} counters;

/* Adds an event, unless it is there already; 0, or -E2BIG. */
int counters_add(const struct event *e);

/* A bit for each event of SOFTWARE that has no modifiers (ALL_MODES), or that has some. */
uint32_t counters_of(uint64_t software, bool all_modes);

/*
 * Opens a counter of each event on each CPU that is online, but for events in DIRECT.  0, or -errno
 * after a message: -EOPNOTSUPP if this kernel or CPU does not count an event.
 */
int counters_open(uint32_t direct);

/* Gives them to a loaded object; 0 or -errno. */
int counters_fill(const struct bpf_object *object);

/* Reads them all and charges what they counted: runs the program on_report on each CPU. */
void counters_settle(const struct bpf_object *object);

/* The state of event I, summed over all CPUs. */
struct rate_state counters_state(const struct bpf_object *object, uint32_t i);

/* Lists the events, and whether each can be counted here. */
void counters_list(FILE *out);
