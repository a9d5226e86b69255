/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bootstrap: the 95 % confidence interval of the median of few measurements.
 *
 * The measurements are resampled many times with replacement.  The interval is the middle
 * 95 % of the sorted medians of the samples (Efron's percentile method).  This assumes no
 * distribution; timings on a busy machine follow none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <plumb/core/run.h>

/* The interval of VALUES[0..n), n > 0; the same SEED gives the same result. */
struct plumb_interval plumb_bootstrap(const double *values, size_t n, uint64_t seed);

/* Its median alone. */
double plumb_median(const double *values, size_t n);

/* The next of random numbers; *STATE may begin as any number. */
uint64_t plumb_bootstrap_random(uint64_t *state);

/* WITH minus the mean of BEFORE and AFTER, with the widest bounds that these allow. */
struct plumb_interval plumb_interval_added(const struct plumb_interval *with,
					   const struct plumb_interval *before,
					   const struct plumb_interval *after);
