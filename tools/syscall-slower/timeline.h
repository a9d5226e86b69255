/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* timeline: calls as a picture, a lane for each thread, and as a trace for Perfetto. */
#ifndef TIMELINE_H
#define TIMELINE_H

#include "kept.h"

#include <stdio.h>
#include <plumb/core/report.h>

/* A sorted list of calls, of a run that began at START, and the report of it. */
struct timeline {
	const struct kept *kept;
	const struct plumb_report *report;
	uint64_t start; /* CLOCK_MONOTONIC; no call began before */
};

/* For plumb_picture_save(), with a timeline: the picture, and trace events as JSON, which Perfetto
 * and chrome://tracing open. */
int timeline_draw(void *timeline, FILE *out);
int timeline_trace(void *timeline, FILE *out);

#endif
