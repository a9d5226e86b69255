/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* options-keep: the options of the flight recorder, and of the time of a trace. */
#ifndef OPTIONS_KEEP_H
#define OPTIONS_KEEP_H

#include <stdbool.h>

struct plumb_options;

/* Parses option KEY; false: it is another option. */
bool plumb_options_keep(int key, char *text, struct plumb_options *o);
/* After the last option: wrong combinations, and what follows from --keep. */
void plumb_options_keep_finish(struct plumb_options *o);

#endif
