/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* events: the names of events that perf counters count, in the spelling of perf list. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PERF_COUNT_SW_CGROUP_SWITCHES, of 5.13: older headers lack it. */
#define CGROUP_SWITCHES 11

/* Modes of the CPU, as modifiers select them: "cycles:u". */
enum event_mode { EVENT_USER = 1, EVENT_KERNEL = 2, EVENT_HYPERVISOR = 4 };

/* As perf_event_open() takes it. */
struct event {
	const char *name; /* as typed */
	uint32_t type;
	uint64_t config;
	uint32_t modes; /* in which it is counted, enum event_mode; 0: in all */
};

/*
 * Whether NAME, with or without modifiers, is such an event, which E then is.  NAME has to outlive
 * E.
 */
bool event_parse(const char *name, struct event *e);

/*
 * NAME as a trace target ("t:sched:sched_switch", "k:do_wp_page"), if it is spelled as a tracepoint
 * or function; NULL: it is neither.
 */
const char *event_target(const char *name);

/* Event I of those that have a name, in the order of perf list; false after the last. */
bool event_at(size_t i, struct event *e);
/* Its other name; NULL: it has none. */
const char *event_alias(size_t i);

/* "; did you mean ..." for a NAME that is no event, or "".  Returns TEXT. */
const char *event_suggest(const char *name, char *text, size_t size);

/* 0, or -PLUMB_FORBIDDEN: the policy forbids E. */
int event_check_allowed(const struct event *e);

/* Opens a counter of E on CPU; its descriptor or -errno (-ENODEV: the CPU is offline). */
int event_open(const struct event *e, int cpu);
bool event_is_software(const struct event *e, uint64_t config);
/* Whether it counts ns. */
bool event_is_clock(const struct event *e);
/* Whether a program can run each time that it occurs. */
bool event_is_occurrence(const struct event *e);
bool events_are_same(const struct event *a, const struct event *b);
const char *event_kind(const struct event *e);

/*
 * Why a counter of E cannot be opened: ERR is perf_event_open()'s, negative; PMU: other hardware
 * events can be counted.  Begins with the error's name.  Returns TEXT.
 */
const char *event_refusal(const struct event *e, int err, bool pmu, char *text, size_t size);
/* Whether the cause is this kernel or CPU, and not this process or system. */
bool event_is_unsupported(int err);
