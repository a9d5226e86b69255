/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hist: a log-linear histogram of durations, the same arithmetic on both sides.
 *
 * An octave [2^e, 2^(e+1)) is cut into 2^p equal sub-buckets, p being the
 * precision (--precision, 6 unless told).  Below 2^(p+1) a bucket is one
 * nanosecond wide.  With s = max(0, e - p), value v lies in bucket
 *
 *	index(v) = (s << p) + (v >> s)
 *
 * which numbers all buckets without a gap: the octave of shift s fills
 * [(s + 1) << p, (s + 2) << p).  (The layout is HdrHistogram's, as H2
 * histograms write it.)
 *
 * Bound: bucket b holds the values [lowest, highest] with highest - lowest =
 * 2^s - 1, and lowest >= 2^(p+s) wherever s > 0, so
 *
 *	(highest - v) / v  <  2^s / 2^(p+s)  =  1 / 2^p
 *
 * A percentile that is reported as its bucket's highest value is never low and
 * less than 1/2^p high: 1/64 (1.6 %) at precision 6.
 *
 * Range: [0, 2^42) ns, which is 73 minutes.  Longer ones are counted in one
 * more bucket, the last ("saturated"); their exact maximum is kept apart.
 *
 * Memory: (43 - p) << p buckets and the saturated one, 8 bytes each: 18,952
 * bytes at precision 6.
 */
#pragma once

#include <plumb/bpf/core/types.h>

#define PLUMB_HIST_RANGE_BITS    42
#define PLUMB_HIST_MIN_PRECISION 1
#define PLUMB_HIST_MAX_PRECISION 10
#define PLUMB_HIST_PRECISION     6

/* Number of buckets, the saturated one included. */
static inline __attribute__((always_inline)) __u32 plumb_hist_buckets(__u32 precision)
{
	return ((PLUMB_HIST_RANGE_BITS + 1 - precision) << precision) + 1;
}

/* floor(log2(i)) of a byte, 0 for 0. */
/* clang-format off */
#define PLUMB_LOG2_16(n) n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n
static const __u8 plumb_log2_of_byte[256] = {
	0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3,
	PLUMB_LOG2_16(4), PLUMB_LOG2_16(5), PLUMB_LOG2_16(5),
	PLUMB_LOG2_16(6), PLUMB_LOG2_16(6), PLUMB_LOG2_16(6), PLUMB_LOG2_16(6),
	PLUMB_LOG2_16(7), PLUMB_LOG2_16(7), PLUMB_LOG2_16(7), PLUMB_LOG2_16(7),
	PLUMB_LOG2_16(7), PLUMB_LOG2_16(7), PLUMB_LOG2_16(7), PLUMB_LOG2_16(7),
};
/* clang-format on */

/* floor(log2(v)) below 2^16, 0 for 0.  By a table: clang 14 has no __builtin_clzll for BPF. */
static inline __attribute__((always_inline)) __u32 plumb_log2_16(__u32 v)
{
	__u32 s = (0xff - v) >> 31 << 3; /* 8 if v is above */

	return s + plumb_log2_of_byte[v >> s & 0xff];
}

/* floor(log2(v)), 0 for 0. */
static inline __attribute__((always_inline)) __u32 plumb_log2(__u64 v)
{
	__u32 e = 0;

	if (v >> 32) {
		v >>= 32;
		e = 32;
	}
	if (v >> 16) {
		v >>= 16;
		e += 16;
	}
	return e + plumb_log2_16(v);
}

/* The bucket of v: always below plumb_hist_buckets(precision). */
static inline __attribute__((always_inline)) __u32 plumb_hist_index(__u64 v, __u32 precision)
{
	__s32 s;

	/* Short values take the shorter path. */
	if (!__builtin_expect(v >> 16, 0))
		s = plumb_log2_16(v);
	else if (v >> PLUMB_HIST_RANGE_BITS)
		return plumb_hist_buckets(precision) - 1;
	else
		s = plumb_log2(v);
	s -= precision;
	s &= ~(s >> 31); /* at least 0 */
	return ((__u32)s << precision) + (__u32)(v >> s);
}
