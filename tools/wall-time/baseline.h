/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* baseline: an earlier run, of which JSON was kept, and what has changed since. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "account.h"

/* Reads the last report of the file PATH of --baseline: 0, or -1 after a message. */
int baseline_read(const char *path);

/* Prints what takes a larger or smaller share of the time than then, the largest change first;
 * nothing if there is no baseline. */
void baseline_print(const struct account *a, FILE *out);
/* The same as an array; NULL: there is no baseline. */
json_t *baseline_json(const struct account *a);
