/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* limits-report: the limits under which traced threads have waited, as text and in JSON. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "users.h"

struct plumb_report;

/* USERS: those of the report, sorted. */
void limits_print(const struct plumb_report *r, const struct disk_users *users, FILE *out);
json_t *limits_json(const struct plumb_report *r, const struct disk_users *users, uint32_t dev);
