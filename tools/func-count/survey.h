/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* survey: what is to be counted, which the files of this tool share. */
#ifndef SURVEY_H
#define SURVEY_H

#include <plumb/options.h>
#include <plumb/tool.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cost.h"
#include "targets.h"

struct survey {
	const char *patterns[PLUMB_MAX_LIST]; /* as they were typed */
	size_t n_patterns;
	struct targets targets; /* that they stand for */
	const struct plumb_options *options;
};

extern struct survey survey;

bool survey_asks_for(enum target_kind kind);

/* columns.c: what is shown of a row. */
extern const struct plumb_field survey_fields[];
extern const size_t survey_n_fields;
size_t survey_target_of(const struct plumb_row *row);
/* The tool's columns, as far as the patterns and the costs are known. */
void survey_lay_out_columns(struct plumb_tool *tool);
void survey_add_json(json_t *row_json, const struct plumb_report *r, const struct plumb_row *row);
void survey_print_footer(FILE *out);

/* rungs.c: how it is counted. */
extern const struct plumb_rung survey_few[], survey_many[];
extern const size_t survey_n_few, survey_n_many;
/* The rung of a cost's mechanism. */
const struct plumb_rung *survey_rung_of(const struct cost *c);

#endif
