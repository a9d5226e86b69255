/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trace-events: a file of trace events, JSON that Perfetto and chrome://tracing open.  Written by
 * a function that plumb_picture_save() calls.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <plumb/core/report.h>

struct plumb_trace {
	FILE *out;
	bool any;
	int err;
};

/*
 * Writes to OUT what the run R was, and what EVENTS adds; 0 or -errno.  LEFT_OUT is what
 * "otherData" calls events that the file lacks, N of them.
 */
int plumb_trace_write(const struct plumb_report *r, const char *left_out, uint64_t n, FILE *out,
		      void (*events)(struct plumb_trace *t, const void *context),
		      const void *context);
/* Adds EVENT, which is freed.  Does nothing after an error. */
void plumb_trace_add(struct plumb_trace *t, json_t *event);
/* Names a thread ("thread_name") or a process ("process_name") of the events. */
void plumb_trace_name(struct plumb_trace *t, const char *what, uint32_t pid, uint32_t tid,
		      const char *comm);
