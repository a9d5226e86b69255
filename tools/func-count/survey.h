/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* survey: what is shown of a row. */
#ifndef SURVEY_H
#define SURVEY_H

#include <plumb/mechanism/trace-targets.h>
#include <stdio.h>

#include "cost.h"

/* The tool's columns, as far as the patterns and the costs are known. */
void survey_lay_out_columns(struct plumb_tool *tool);
void survey_add_json(json_t *row_json, const struct plumb_report *r, const struct plumb_row *row);
void survey_print_footer(FILE *out);

/* The mechanism that a cost is of. */
const struct plumb_mechanism *survey_mechanism_of(const struct cost *c);

#endif
