/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* remains: what the compiler left of a function, of the kernel or of a program, and of its calls.
 */
#ifndef REMAINS_H
#define REMAINS_H

#include "inlining.h"

#include "verdict.h"

struct remains {
	struct check *check;
	/*
	 * The first n_exact are called as the target is, the others were made of it
	 * ("foo.part.0"); where there are none, callees[0] is the name alone.
	 */
	const struct plumb_callee *callees;
	size_t n, n_exact;
	const struct plumb_calls *calls;
	bool is_kernel; /* whose exported functions hardly anybody but itself calls */
};

/* "s", unless it is one. */
const char *plural(size_t n);

/* Those that are called so, together; without an address if one of them has none. */
struct plumb_callee remains_sum(const struct remains *r);

/*
 * Each says what is wrong, or false and nothing where that is not so.
 * inlined: nothing is called so, nor was anything made of it, but it stands in others' code;
 * made: something was made of it; hollow: it is there, but not all of its calls are.
 */
bool remains_judge_inlined(const struct remains *r);
bool remains_judge_made(const struct remains *r);
bool remains_judge_hollow(const struct remains *r);

/* How many calls there are, behind another verdict. */
void remains_add_calls(const struct remains *r);

#endif
