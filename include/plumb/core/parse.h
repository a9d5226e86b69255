/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * parse: strict parsers of user input.
 *
 * All parse the whole string: nothing may precede or follow the value, not even a blank.  They
 * return 0, or -EINVAL (malformed) or -ERANGE (outside [min, max]) without writing the value.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A decimal number without sign. */
int plumb_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* Seconds, with up to nine decimals, to ns: "0.25". */
int plumb_parse_seconds(const char *text, uint64_t min, uint64_t max, uint64_t *ns);

/* A duration with its unit (ns, us, ms, s), to ns: "1.5ms". */
int plumb_parse_duration(const char *text, uint64_t min, uint64_t max, uint64_t *ns);

/* The same, also with m and h: "10m". */
int plumb_parse_span(const char *text, uint64_t min, uint64_t max, uint64_t *ns);

/* Bytes, with K, M or G for powers of 1024: "64K". */
int plumb_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *bytes);

/*
 * A decimal fraction as an integer: "99.9" with 6 places is 99,900,000.  More
 * digits than places are an error, not rounded.
 */
int plumb_parse_fixed(const char *text, unsigned int places, uint64_t min, uint64_t max,
		      uint64_t *value);

/*
 * Calls each(item, context) for the items of a comma-separated list, none of
 * which may be empty (-EINVAL).  Stops at the first non-zero result and returns it.
 */
int plumb_parse_list(const char *text, int (*each)(const char *item, void *context), void *context);
