/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parts-json: the account in JSON. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "account.h"

/* Adds the members of a report. */
void parts_report_json(json_t *json, const struct account *a);
/* Prints the array of rows: a part each.  0, or -errno. */
int parts_rows_json(const struct account *a, FILE *out);
