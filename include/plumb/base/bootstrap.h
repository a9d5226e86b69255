/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bootstrap: how sure a median of few measurements is.
 *
 * The measurements are drawn from again and again, with replacement, and the medians
 * of the draws sorted: the middle 95 % of them are the interval (Efron's percentile
 * method).  It asks for no distribution, which timings on a busy machine do not have.
 */
#ifndef PLUMB_BOOTSTRAP_H
#define PLUMB_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

struct plumb_interval {
	double low, median, high;
};

/* Of VALUES[0..n), n > 0; the same SEED draws the same. */
struct plumb_interval plumb_bootstrap(const double *values, size_t n, uint64_t seed);

/* What WITH has more than its surroundings, of which BEFORE and AFTER are at worst. */
struct plumb_interval plumb_interval_added(const struct plumb_interval *with,
					   const struct plumb_interval *before,
					   const struct plumb_interval *after);

#endif
