/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rates: what event-rate's reports have besides counts. */
#pragma once

#include <stdio.h>
#include <plumb/core/report.h>
#include <plumb/core/tool.h>

#include "counters.h"

/* A bit for each that the kernel counts in a switch after the program. */
uint32_t rates_after(void);

/* A bit for each clock among other events: its ns do not add up with these. */
uint32_t rates_clocks(void);

/* The key "event". */
extern const struct plumb_field rates_field;

/* Sets the tool's columns; to be called again whenever an event is added. */
void rates_lay_out_columns(struct plumb_tool *tool);
void rates_add_json(json_t *json, const struct plumb_report *r);

/* How much of the time the counters were on the PMU, and what could not be read: text lines. */
void rates_print_counters(const struct bpf_object *object, FILE *out);

/* Warns of events that did not occur, and of CPUs that came or went. */
void rates_finish(const struct plumb_snapshot *total, uint64_t elapsed,
		  const struct bpf_object *object);
