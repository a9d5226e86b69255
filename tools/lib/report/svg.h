/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* svg: what all pictures have in common: text of any origin, colours in light and dark, the file.
 */
#ifndef SVG_H
#define SVG_H

#include <plumb/base/atomic-file.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SVG_WIDTH     1200 /* pixels, of each picture */
#define SVG_CHARACTER 7.2  /* of a character */

/*
 * Prints the first MOST characters of TEXT, for text and attributes of XML.  A byte of control
 * characters and of invalid UTF-8 becomes '?'.
 */
void plumb_svg_escape(const char *text, size_t most, FILE *out);
size_t plumb_svg_characters(const char *text);

/*
 * Begins a picture: STYLE is added to the common style, DATA to the attributes of its root.  The
 * style defines --paper, --ink, --dim and --line for light and dark; printed it is light.
 */
void plumb_svg_begin(FILE *out, size_t height, const char *style, const char *data);
void plumb_svg_end(FILE *out, const char *script);

/* A file that is found and opened before the trace, and written at its end. */
struct plumb_svg_file {
	const char *option; /* "--flame", for messages */
	struct plumb_atomic_file place;
	struct plumb_svg_file *next; /* all of them, to be removed at exit */
	bool listed;
};

/* Checks, as far as possible, that PATH can be written, and opens it.  0, or -errno after a
 * message. */
int plumb_svg_check(struct plumb_svg_file *file, const char *path);
/* The file, opened now if it is not yet; and its end (atomic-file.h).  0, or -errno after a
 * message. */
int plumb_svg_open(struct plumb_svg_file *file, const char *path);
int plumb_svg_close(struct plumb_svg_file *file, const char *path);

#endif
