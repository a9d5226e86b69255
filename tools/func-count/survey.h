/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* survey: func-count's columns, the JSON of its rows, and its footer. */
#ifndef SURVEY_H
#define SURVEY_H

#include <stdio.h>
#include <plumb/targets/trace-targets.h>

#include "cost.h"

/* Set the tool's columns; to be called again whenever patterns or costs become known. */
void survey_lay_out_columns(struct plumb_tool *tool);
void survey_add_json(json_t *row_json, const struct plumb_report *r, const struct plumb_row *row);
void survey_print_footer(FILE *out);

/* The mechanism whose cost is C; NULL: this tool has no such mechanism. */
const struct plumb_mechanism *survey_mechanism_of(const struct cost *c);

#endif
