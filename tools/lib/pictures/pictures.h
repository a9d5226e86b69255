/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pictures: what is drawn of the history of a run. */
#pragma once

#include <plumb/core/report.h>
#include <plumb/pictures/history.h>
#include <plumb/pictures/picture.h>

/*
 * A history as a picture; R is the final report; 0 or -ENOMEM.  The heat map: time, value, and a
 * colour for the number of calls.  The chart: percentiles over time, the percentile distribution of
 * the whole run, and with --split the parts of the time along that distribution.
 */
int plumb_heatmap_draw(const struct plumb_history *h, const struct plumb_report *r, FILE *out);
int plumb_chart_draw(const struct plumb_history *h, const struct plumb_report *r, FILE *out);

/*
 * Where the RANK-th of N values is on the axis of the distribution: log10(1/(1-p)), so that p90,
 * p99 and p99.9 are 1, 2 and 3.  The last value, which would be infinitely far away, is a little
 * right of where 1/N is above.
 */
double plumb_rank_place(uint64_t rank, uint64_t n);
/* Lines and labels of this axis, from 0 to RIGHT. */
void plumb_ranks_draw(const struct picture_frame *f, double right, FILE *out);

/* --- parts chart: how calls spent their time, stacked, along that axis --- */

/* Colours of parts, by their place in the list of names. */
#define PARTS_CHART_STYLE                                                                          \
	".part { shape-rendering: crispEdges; }\n"                                                 \
	".p0 { fill: #4c9f45; } .p1 { fill: #d62f2f; } .p2 { fill: #3a78b5; }\n"                   \
	".p3 { fill: #f2a61d; } .p4 { fill: #8e5fb0; } .p5 { fill: #8c564b; }\n"                   \
	".p6 { fill: #e377c2; } .p7 { fill: #7f7f7f; } .p8 { fill: #bcbd22; }\n"                   \
	".p9 { fill: #17becf; } .p10 { fill: #9edae5; } .p11 { fill: #c5b0d5; }\n"

/* ALL: the distribution of R->total; RIGHT: the end of its axis.  0 or -ENOMEM. */
int plumb_parts_chart_draw(const struct plumb_report *r, const struct plumb_dist *all,
			   const struct picture_frame *f, double right, FILE *out);
