/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pictures: --heatmap and --chart, drawn of what the intervals of a run recorded. */
#ifndef PLUMB_PICTURES_H
#define PLUMB_PICTURES_H

#include <plumb/report/report.h>

/* TEXT, the FILE of an option; wrong usage if it stands for stdout, which is for reports. */
const char *plumb_picture_path(const char *option, const char *text);
/* ns from one column to the next, without INTERVAL. */
uint64_t plumb_pictures_sample(const struct plumb_options *o);

/* Opens the files, which the tool may not do after the trace has begun.  0, or -errno after a
 * message. */
int plumb_pictures_open(const struct plumb_tool *tool, const struct plumb_options *o);
/* Remembers an interval; draws the pictures if it is the last one.  0, or -errno after a message.
 */
int plumb_pictures_take(const struct plumb_report *interval);
void plumb_pictures_close(void);

#endif
