/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* options-table: the options that tools share; a tool may lack some of them. */
#ifndef OPTIONS_TABLE_H
#define OPTIONS_TABLE_H

#include <argp.h>
#include <stdint.h>

struct plumb_tool;

/* Options without a letter. */
enum {
	MAX_KEYS = 0x1000,
	PRECISION,
	MECHANISM,
	NO_CALIBRATE,
	STRICT,
	SORT,
	BTF,
	CHECK_ARGUMENTS,
	FOLLOW
};

/* The shared options that the tool has, for argp; ended by {0}. */
const struct argp_option *plumb_options_of(const struct plumb_tool *tool);
/* For option KEY of BCC's tools, text on its replacement in TOOL; NULL: no such option. */
const char *plumb_options_habit(const struct plumb_tool *tool, int key);
uint64_t plumb_options_default_keys(const struct plumb_tool *tool);

#endif
