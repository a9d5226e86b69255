/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* picture: what pictures of a whole run have in common: caption, axes, text, the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <plumb/core/report.h>
#include <plumb/files/atomic-file.h>

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

/*
 * A picture of a run: the caption, the button that shows the whole again, an axis of time, and what
 * BODY prints after them.  STYLE is added to the common style.
 */
struct plumb_picture {
	const struct plumb_report *report;
	double height;
	double reset;                      /* the button: pixels from the right */
	const struct picture_frame *frame; /* that the axis of time is below, from 0 to NS */
	uint64_t ns;
	const char *style, *script;
	void (*body)(void *context, FILE *out);
	void *context;
};

void plumb_picture_draw(const struct plumb_picture *p, FILE *out);

/*
 * Calls EACH for the calls that are in flight at the end, once for those that are on the same line
 * of the axis of values with their time in the trace, NS.  Returns how many they are; of sizes
 * there are none.
 */
size_t plumb_picture_flights(const struct plumb_report *r,
			     void (*each)(void *context, uint32_t line, uint64_t ns),
			     void *context);

/* --- svg.c: text of any origin, colours in light and dark --- */

#define SVG_WIDTH     1200 /* pixels, of each picture */
#define SVG_CHARACTER 7.2  /* of a character */

/*
 * Prints the first MOST characters of TEXT, for text and attributes of XML.  A byte of control
 * characters and of invalid UTF-8 becomes \xHH, as where names are escaped (text.h).
 */
void plumb_svg_escape(const char *text, size_t most, FILE *out);
size_t plumb_svg_characters(const char *text);

/*
 * Begins a picture: STYLE is added to the common style, which
 * defines --paper, --ink, --dim and --line for light and dark; printed it is light.
 */
void plumb_svg_begin(FILE *out, size_t height, const char *style);
void plumb_svg_end(FILE *out, const char *script);

/* --- picture-file.c: a file that is opened before the trace, written at its end --- */

struct plumb_picture_file {
	const char *option; /* "--flame", for messages */
	const char *path;   /* as the option has it; NULL: it was not given */
	struct plumb_atomic_file place;
	struct stat was;                 /* when it was checked; all zero: there was none */
	struct plumb_picture_file *next; /* all of them, to be removed at exit */
	bool listed, checked;
};

/*
 * Both do nothing if the option was not given, and return 0, or -errno after a message.
 *
 * Wrong usage if the path stands for stdout, which is for reports.  Unless ONLY_WORDS are to be
 * checked, checks as far as possible that the file can be written, and opens it.
 */
int plumb_picture_check(struct plumb_picture_file *file, bool only_words);
/*
 * Replaces the file by what DRAW prints (atomic-file.h), which returns 0 or -errno.  A file that
 * has appeared or changed since it was checked is left as it is: -ESTALE.
 */
int plumb_picture_save(struct plumb_picture_file *file, int (*draw)(void *context, FILE *out),
		       void *context);
