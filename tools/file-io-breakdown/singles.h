/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * singles: single calls, each with its parts: those of --slower, one line each, in the order in
 * which they ended, and those that have not ended, with the part that each is in.
 */
#pragma once

#include <plumb/core/inflight.h>
#include <plumb/recorder/in-order.h>
#include <plumb/split/split.h>

#include "file-io-breakdown.h"

/* The parts of a call's time, in the order in which they are printed. */
extern const struct plumb_part_name io_parts[IO_ALL_PARTS];

extern struct plumb_in_order io_slow_calls;
/* Whether they have user stacks. */
void io_slow_calls_have_stacks(bool have);

/* RESULT: of the program call_so_far, mapped. */
void singles_use(const struct io_so_far *result);

/* The callbacks of struct plumb_inflight. */
void flights_describe(const struct plumb_run *run, const struct plumb_state *state,
		      struct plumb_flight *f);
void flights_print(const struct plumb_run *run, const struct plumb_flights *f, size_t n, FILE *out);
void flights_json(const struct plumb_run *run, const struct plumb_flights *f,
		  const struct plumb_flight *one, json_t *json);
