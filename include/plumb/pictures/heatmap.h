/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heatmap: a history as a picture: time, value, and a colour for the number of calls. */
#ifndef PLUMB_HEATMAP_H
#define PLUMB_HEATMAP_H

#include <plumb/core/report.h>
#include <plumb/pictures/history.h>

/* R is the final report. */
void plumb_heatmap_draw(const struct plumb_history *h, const struct plumb_report *r, FILE *out);

#endif
