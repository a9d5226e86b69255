/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* judge: what pairs of runs say of a difference. */
#ifndef JUDGE_H
#define JUDGE_H

#include <plumb/base/bootstrap.h>

/* In the order in which one prevails over another. */
enum verdict { UNBIASED, UNDECIDED, BIASED };

/* More pairs than these are not reckoned. */
#define JUDGE_MOST 10000

struct judgement {
	double without, with;         /* medians */
	struct plumb_interval change; /* from without to with, in percent: 95 % */
	enum verdict verdict;
	uint64_t more; /* undecided: pairs that are likely to decide; JUDGE_MOST: so many or more */
};

/*
 * Of n pairs, values above 0.  Within LIMIT percent is unbiased, beyond it biased, in
 * either direction, if the whole interval is.
 */
struct judgement judge(const double *without, const double *with, size_t n, double limit,
		       uint64_t seed);

#endif
