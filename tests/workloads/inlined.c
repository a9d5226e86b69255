// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* inlined: calls of functions that the compiler inlines, each counted by itself. */
#include "workload.h"

const char usage[] =
	"Usage: inlined N\n"
	"In each of N rounds call functions that are inlined: in_all at three places, sometimes;\n"
	"in_some at two places, and by its address; in_part, whose beginning is inlined at two\n"
	"places.\n"
	"\n"
	"Gates: ready, go.\n";

#define INLINED static inline __attribute__((always_inline))
#define PLACE   static __attribute__((noipa, noinline))

/* What the functions count themselves. */
static volatile uint64_t in_all_calls, in_some_calls, in_part_calls;
static volatile int sink;

INLINED void in_all(int n)
{
	in_all_calls++;
	sink = n;
}

INLINED void in_some(int n)
{
	in_some_calls++;
	sink = n;
}

/* GCC splits what is behind a condition into in_part.part.0, and inlines the condition. */
static void in_part(int n)
{
	in_part_calls++;
	if (__builtin_expect(n % 64 == 0, 0))
		for (int i = 0; i < 10; i++) {
			sink = i;
			sink = sink * n + i;
			sink = sink / (i + 1);
			sink = sink ^ n;
			sink = sink % 7 + i;
			sink = sink * sink;
		}
}

static void (*volatile by_address)(int) = in_some;

PLACE void first(int n)
{
	in_all(n);
	if (n & 1)
		in_some(n);
	in_part(n);
}

PLACE void second(int n)
{
	for (int i = 0; i < 3; i++) {
		sink = i;
		in_all(n + i);
	}
	in_part(n + 1);
}

PLACE int third(int n)
{
	if (n % 5 == 0)
		in_all(n);
	else
		in_some(n);
	return n;
}

int main(int argc, char **argv)
{
	uint64_t n;

	help_if_asked(argc, argv);
	if (argc != 2)
		misuse("N is needed");
	n = parse_number(argv[1], "N", 1, 1000000);
	reached("ready");
	gate("go");
	for (uint64_t i = 0; i < n; i++) {
		first(i);
		second(i);
		third(i);
		by_address(i);
	}
	report_begin();
	put_row_of("function", own_tid(), "inlined", "in_all", in_all_calls, 0);
	put("}");
	put_row_of("function", own_tid(), "inlined", "in_some", in_some_calls, 0);
	put("}");
	put_row_of("function", own_tid(), "inlined", "in_part", in_part_calls, 0);
	put("}");
	report_end();
	return 0;
}
