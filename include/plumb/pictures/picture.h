/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* picture: what pictures of a whole run have in common: their caption and their axes. */
#ifndef PLUMB_PICTURE_H
#define PLUMB_PICTURE_H

#include <stdio.h>
#include <plumb/core/report.h>

/* Pixels. */
#define PICTURE_TOP   84 /* below the caption */
#define PICTURE_LEFT  76 /* labels of the axis of values */
#define PICTURE_RIGHT 20

/* Of what picture.js, which is to come before a picture's own script, looks for. */
#define PICTURE_STYLE                                                                              \
	"#zone { fill: transparent; cursor: crosshair; }\n"                                        \
	"#frame { fill: none; stroke: var(--dim); }\n"                                             \
	"#selection { fill: var(--ink); fill-opacity: 0.15; stroke: var(--ink); }\n"               \
	"#mark { fill: none; stroke: var(--ink); stroke-width: 1.5; pointer-events: none; }\n"     \
	".flight { fill: none; stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 3 2; "     \
	"vector-effect: non-scaling-stroke; }\n"

struct picture_frame {
	double x, y, width, height;
};

/*
 * The command line, the system and its time, and the ledger: how many calls the picture shows, and
 * how many it lacks.
 */
void plumb_picture_caption(const struct plumb_report *r, FILE *out);

/* The button that shows the whole again, RIGHT pixels from the right. */
void plumb_picture_reset(double right, FILE *out);
/*
 * Lines and labels of the axis of values, from line FIRST at the frame's lower edge to LAST + 1 at
 * its upper edge (history.h): 1, 2, 5, 10, ... or powers of two.
 */
void plumb_picture_values(const struct picture_frame *f, uint32_t first, uint32_t last,
			  uint32_t precision, bool is_size, FILE *out);
/* Lines and labels of the axis of time, from 0 to NS. */
void plumb_picture_times(const struct picture_frame *f, uint64_t ns, FILE *out);

/*
 * Calls EACH for the calls that are in flight at the end, once for those that are on the same line
 * of the axis of values with their time in the trace, NS.  Returns how many they are; of sizes
 * there are none.
 */
size_t plumb_picture_flights(const struct plumb_report *r,
			     void (*each)(void *context, uint32_t line, uint64_t ns),
			     void *context);

#endif
