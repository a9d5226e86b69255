/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * remains: verdicts on what the compiler left of a function and of its calls.  The function is one
 * of the kernel or of a program.
 */
#pragma once

#include "inlining/inlining.h"

#include "plan/verdict.h"

struct remains {
	struct check *check;
	/*
	 * The first n_exact have the target's name.  The compiler derived the others from it
	 * ("foo.part.0").  If N is 0, callees[0] still has the name, but no address.
	 */
	const struct plumb_callee *callees;
	size_t n, n_exact;
	const struct plumb_calls *calls;
	bool is_kernel; /* then exported functions are mostly called by the kernel itself */
};

/* "" if N is 1, otherwise "s". */
const char *plural(size_t n);

/* The sum of the callees with the target's name; its address is 0 if that of any of them is. */
struct plumb_callee remains_sum(const struct remains *r);

/*
 * Each sets a verdict and returns true if its case applies; otherwise it returns false.
 * inlined: no symbol has the name or is derived from it, but calls of it were inlined.
 * made: symbols are derived from the name, but none has it.
 * hollow: a symbol has the name, but some or all of its calls are inlined, or none is left.
 */
bool remains_judge_inlined(const struct remains *r);

/*
 * The same of a name of C++ or Rust as in the source.  Static functions of C++ may have but the
 * last part of it in debugging information: then it is unknown whether these are meant.
 */
bool remains_judge_spelled(const struct remains *r, const char *path, const char *name);
bool remains_judge_made(const struct remains *r);
bool remains_judge_hollow(const struct remains *r);

/* Append the numbers of calls to the present verdict. */
void remains_add_calls(const struct remains *r);
