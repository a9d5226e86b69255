/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parts chart: how calls spent their time, stacked, along the percentile distribution. */
#ifndef PARTS_CHART_H
#define PARTS_CHART_H

#include <plumb/pictures/picture.h>

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

#endif
