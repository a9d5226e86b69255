/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unit: cmocka, and what several tests need.  Each file is a program that prints TAP. */
#ifndef UNIT_H
#define UNIT_H

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

#endif
