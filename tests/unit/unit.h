/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unit: cmocka, and what several tests need.  Each file is a program that prints TAP. */
#pragma once

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* assert_int_equal and its like report a line, but not which of a thousand values it was about. */
#define check(holds, ...)                                                                          \
	do {                                                                                       \
		if (!(holds)) {                                                                    \
			print_message("# %s: ", #holds);                                           \
			print_message(__VA_ARGS__);                                                \
			print_message("\n");                                                       \
			fail_msg("%s", #holds);                                                    \
		}                                                                                  \
	} while (0)

/* In TAP cmocka's own says "not ok", which is a failure to prove. */
#undef skip
#define skip()                                                                                     \
	do {                                                                                       \
		print_message("# skipped: %s\n", __func__);                                        \
		return;                                                                            \
	} while (0)

/* cmocka 2 has two of another name for its assert_in_range, which 1 does not know. */
#define assert_between(value, low, high)                                                           \
	do {                                                                                       \
		int64_t between_n = (value), between_low = (low), between_high = (high);           \
		check(between_n >= between_low && between_n <= between_high,                       \
		      "%" PRId64 ", not %" PRId64 " to %" PRId64, between_n, between_low,          \
		      between_high);                                                               \
	} while (0)

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Runs the tests of the array TESTS; the result is main()'s. */
#define run_all(tests)                                                                             \
	(cmocka_set_message_output(CM_OUTPUT_TAP), cmocka_run_group_tests(tests, NULL, NULL))

/* The same numbers each time (Marsaglia's xorshift64). */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}
