/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* judge: a verdict on the difference between paired runs. */
#pragma once

#include <plumb/user/bootstrap.h>

/* In increasing order of precedence. */
enum verdict { UNBIASED, UNDECIDED, BIASED };

/* The largest number of pairs, and of pairs that are estimated. */
#define JUDGE_MOST 10000

struct judgement {
	double without, with;         /* medians */
	struct plumb_interval change; /* from without to with, in percent: 95 % */
	enum verdict verdict;
	uint64_t more; /* if undecided: further pairs likely to decide, at most JUDGE_MOST */
};

/*
 * Judge N pairs of values above 0.  Unbiased: the whole interval is within LIMIT percent.  Biased:
 * the whole interval is beyond LIMIT, in one direction.
 */
struct judgement judge(const double *without, const double *with, size_t n, double limit,
		       uint64_t seed);
