/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* operations: those in flight. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include <plumb/core/report.h>
#include <plumb/inflight/inflight.h>

#include "file-latency.h"

/* As in struct plumb_inflight. */
void operations_describe(const struct plumb_run *run, const struct plumb_state *state,
			 struct plumb_flight *f);
void operations_read_uring(const struct plumb_run *run, struct plumb_flights *to);
void operations_name(const struct plumb_run *run, const struct plumb_flight *f, char *text,
		     size_t size);

/* As in struct plumb_view: requests of AIO that are not listed, and calls that are not timed. */
void operations_print(FILE *out);
void operations_json(json_t *json, const struct plumb_report *r);

/* O counts the calls that are not timed. */
void operations_use_untimed(const struct bpf_object *o);

/* The operation of each function, as in struct file_config. */
void operations_use(const __u32 *targets);
