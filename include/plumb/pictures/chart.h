/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * chart: percentiles over time, the percentile distribution of the whole run, and with
 * --split the parts of the time along that distribution.
 */
#ifndef PLUMB_CHART_H
#define PLUMB_CHART_H

#include <plumb/pictures/history.h>
#include <plumb/pictures/picture.h>

#include <plumb/core/report.h>

/* R is the final report.  0 or -ENOMEM. */
int plumb_chart_draw(const struct plumb_history *h, const struct plumb_report *r, FILE *out);

/*
 * Where the RANK-th of N values is on the axis of the distribution: log10(1/(1-p)), so that p90,
 * p99 and p99.9 are 1, 2 and 3.  The last value, which would be infinitely far away, is a little
 * right of where 1/N is above.
 */
double plumb_rank_place(uint64_t rank, uint64_t n);
/* Lines and labels of this axis, from 0 to RIGHT. */
void plumb_ranks_draw(const struct picture_frame *f, double right, FILE *out);

#endif
