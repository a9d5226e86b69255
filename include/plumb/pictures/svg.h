/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* svg: what all pictures have in common: text of any origin, colours in light and dark, the file.
 */
#ifndef PLUMB_SVG_H
#define PLUMB_SVG_H

#include <stddef.h>
#include <stdio.h>

#define SVG_WIDTH     1200 /* pixels, of each picture */
#define SVG_CHARACTER 7.2  /* of a character */

/*
 * Prints the first MOST characters of TEXT, for text and attributes of XML.  A byte of control
 * characters and of invalid UTF-8 becomes \xHH, as where names are escaped (text.h).
 */
void plumb_svg_escape(const char *text, size_t most, FILE *out);
size_t plumb_svg_characters(const char *text);

/*
 * Begins a picture: STYLE is added to the common style, DATA to the attributes of its root.  The
 * style defines --paper, --ink, --dim and --line for light and dark; printed it is light.
 */
void plumb_svg_begin(FILE *out, size_t height, const char *style, const char *data);
void plumb_svg_end(FILE *out, const char *script);

#endif
