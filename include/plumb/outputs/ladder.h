/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ladder: the bounds of a cumulative histogram, the same on every host.
 *
 * An octave has four rungs: the values below 4, 5, 6 and 7 times 2^k.  Values are integers, so the
 * bound of a rung is the value before the next: 2^k - 1, not 2^k.  Each is the highest value of a
 * bucket of hist.h with a precision of 2 or more, so that the number of values that are not above
 * it is exact.  For other bounds it is the number of values in buckets that end at the bound or
 * below: never too high, and the values that it lacks are less than 1/2^precision below the bound.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLUMB_MAX_BOUNDS 256

struct plumb_ladder {
	uint64_t bounds[PLUMB_MAX_BOUNDS]; /* ascending, ns or bytes */
	size_t n;
};

/* From the last rung that is not above LOW to the first that is not below HIGH. */
void plumb_ladder_fill(struct plumb_ladder *l, uint64_t low, uint64_t high);

/* Of 1 us to 68.7 s, and of 64 bytes to 1 MB. */
void plumb_ladder_of_times(struct plumb_ladder *l);
void plumb_ladder_of_sizes(struct plumb_ladder *l);

/*
 * "1us:10s", a part of the ladder, or "1ms,10ms", bounds as they are; of SIZES "64:64K".  0 or
 * -EINVAL.
 */
int plumb_ladder_parse(struct plumb_ladder *l, const char *text, bool sizes);

/* The first bound that is not below VALUE; l->n: there is none. */
size_t plumb_ladder_index(const struct plumb_ladder *l, uint64_t value);
