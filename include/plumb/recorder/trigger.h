/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trigger: a condition on the rows, or on the ledger, of an interval.
 *
 *	CONDITION = TERM COMPARISON VALUE
 *	TERM = pN | max | mean | total | count | errors | lost | missed
 *	COMPARISON = > | >= | < | <=
 *	VALUE = a time | bytes | N | N/s | N*median
 *
 * N has up to three decimals.  The median is that of the same term of the same row in the intervals
 * before; a condition holds only if both middle ones of an even number satisfy it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/core/report.h>

enum plumb_term {
	PLUMB_TERM_PERCENTILE,
	PLUMB_TERM_MAX,
	PLUMB_TERM_MEAN,
	PLUMB_TERM_TOTAL,
	PLUMB_TERM_COUNT,
	PLUMB_TERM_ERRORS,
	/* of the trace, not of a row */
	PLUMB_TERM_LOST,
	PLUMB_TERM_MISSED,
};

struct plumb_trigger {
	const char *text;
	enum plumb_term term;
	uint64_t percentile; /* as percentile.h takes it */
	bool below, or_equal;
	enum { PLUMB_PLAIN, PLUMB_PER_SECOND, PLUMB_TIMES_MEDIAN } kind;
	uint64_t value; /* in thousandths, except times and bytes */
};

/* With fewer values before, a median is not compared with. */
#define PLUMB_MEDIAN_LEAST 5
/* Where no value is: the row had no calls. */
#define PLUMB_NO_VALUE UINT64_MAX

/* 0, or -EINVAL and in WHY the column at fault and what is expected there. */
int plumb_trigger_parse(const char *text, const struct plumb_tool *tool, struct plumb_trigger *t,
			char *why, size_t size);

/* Whether it is about rows. */
bool plumb_trigger_is_of_rows(const struct plumb_trigger *t);
/* The term's value in ROW; PLUMB_NO_VALUE if there is none. */
uint64_t plumb_trigger_value(const struct plumb_trigger *t, const struct plumb_row *row);
/*
 * Whether an interval of ELAPSED ns, which was to be INTERVAL long, can be judged by it: of less
 * than half, it is not known how little there is in a whole one.
 */
bool plumb_trigger_can_judge(const struct plumb_trigger *t, uint64_t elapsed, uint64_t interval);
/* VALUE as later intervals compare with it: sums as those of a whole interval. */
uint64_t plumb_trigger_for_median(const struct plumb_trigger *t, uint64_t value, uint64_t elapsed,
				  uint64_t interval);
/* Whether VALUE satisfies it; BEFORE[0..n) are earlier values, from plumb_trigger_for_median(). */
bool plumb_trigger_holds(const struct plumb_trigger *t, uint64_t value, uint64_t elapsed,
			 uint64_t interval, const uint64_t *before, size_t n);

/* Keys of rows: "comm=sender,syscall=sendto". */
struct plumb_trigger_key {
	size_t n;
	struct plumb_trigger_part {
		const struct plumb_field *field;
		const char *text;
		char printed[64]; /* of names and numbers that were parsed, where TEXT is then */
	} parts[8];
};

/* Cuts TEXT up, which stays in use.  0, or -EINVAL and in WHY what is wrong. */
int plumb_trigger_key_parse(char *text, const struct plumb_tool *tool, uint32_t by,
			    struct plumb_trigger_key *key, char *why, size_t size);
bool plumb_trigger_key_matches(const struct plumb_trigger_key *key, const struct plumb_row *row);
