/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* options-metrics: the options of what monitoring systems take. */
#ifndef OPTIONS_METRICS_H
#define OPTIONS_METRICS_H

#include <stdbool.h>

struct plumb_options;
struct plumb_tool;

/* Whether KEY is one of these options, which is then parsed. */
bool plumb_options_parse_metrics(int key, const char *text, struct plumb_options *o);
/* When all are parsed; wrong usage exits after a message. */
void plumb_options_finish_metrics(struct plumb_options *o, const struct plumb_tool *tool);

#endif
