/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* options-table: the options that tools have in common, in so far as a tool has them. */
#ifndef OPTIONS_TABLE_H
#define OPTIONS_TABLE_H

#include <argp.h>
#include <stdint.h>

struct plumb_tool;

/* Those without a letter. */
enum { MAX_KEYS = 0x1000, PRECISION, MECHANISM, NO_CALIBRATE, STRICT, SORT, BTF };

/* For argp; ended by {0}. */
const struct argp_option *plumb_options_of(const struct plumb_tool *tool);
/* What other tools' option KEY is called here; NULL: it is none of those. */
const char *plumb_options_habit(int key);
uint64_t plumb_options_default_keys(const struct plumb_tool *tool);

#endif
