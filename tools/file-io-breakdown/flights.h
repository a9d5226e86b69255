/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flights: calls that have not ended, each with its parts so far and the one that it is in. */
#ifndef IO_FLIGHTS_H
#define IO_FLIGHTS_H

#include <plumb/core/inflight.h>

#include "file-io-breakdown.h"

/* RESULT: of the program call_so_far, mapped. */
void flights_begin(const struct io_so_far *result);

/* The callbacks of struct plumb_inflight. */
void flights_read(const struct plumb_run *run, const struct plumb_state *state,
		  struct plumb_flights *to);
void flights_print(const struct plumb_run *run, const struct plumb_flights *f, size_t n, FILE *out);
void flights_json(const struct plumb_run *run, const struct plumb_flights *f,
		  const struct plumb_flight *one, json_t *json);

#endif
