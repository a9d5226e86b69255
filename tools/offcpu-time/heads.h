/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heads: who held the locks that threads waited for (split/heads.h), by the place of the wait. */
#pragma once

#include <jansson.h>
#include <stdio.h>

struct plumb_report;

/* A line for each of them. */
void heads_print(const struct plumb_report *r, FILE *out);
/* The member "heads". */
void heads_json(json_t *json, const struct plumb_report *r);
