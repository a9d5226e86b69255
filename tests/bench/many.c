/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * many: 1,000 functions, many_000 to many_999, for tracers of all of them.
 *
 * It prints `ready PID`, then for each line N on stdin it calls each function N times and
 * answers with the number of calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Their comments keep the compiler from merging them. */
#define ONE(n)                                                                                     \
	__attribute__((noinline)) static void many_##n(void)                                       \
	{                                                                                          \
		asm volatile("# " #n : : : "memory");                                              \
	}
#define NAME(n) many_##n,

#define TEN(what, n)                                                                               \
	what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) what(n##5) what(n##6) what(n##7)    \
		what(n##8) what(n##9)
#define HUNDRED(what, n)                                                                           \
	TEN(what, n##0)                                                                            \
	TEN(what, n##1)                                                                            \
	TEN(what, n##2)                                                                            \
	TEN(what, n##3)                                                                            \
	TEN(what, n##4)                                                                            \
	TEN(what, n##5)                                                                            \
	TEN(what, n##6)                                                                            \
	TEN(what, n##7)                                                                            \
	TEN(what, n##8)                                                                            \
	TEN(what, n##9)
#define THOUSAND(what)                                                                             \
	HUNDRED(what, 0)                                                                           \
	HUNDRED(what, 1)                                                                           \
	HUNDRED(what, 2)                                                                           \
	HUNDRED(what, 3)                                                                           \
	HUNDRED(what, 4)                                                                           \
	HUNDRED(what, 5)                                                                           \
	HUNDRED(what, 6)                                                                           \
	HUNDRED(what, 7)                                                                           \
	HUNDRED(what, 8)                                                                           \
	HUNDRED(what, 9)

THOUSAND(ONE)

static void (*const functions[])(void) = {THOUSAND(NAME)};

int main(void)
{
	const size_t n = sizeof(functions) / sizeof(*functions);
	unsigned long times, i;
	size_t f;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", getpid());
	while (scanf("%lu", &times) == 1) {
		for (f = 0; f < n; f++)
			for (i = 0; i < times; i++)
				functions[f]();
		printf("%lu\n", n * times);
	}
	return 0;
}
