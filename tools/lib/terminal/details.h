/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include <stdio.h>

struct plumb_report;

/* Callback of the part (plumb/core/part.h). */
void print_details(const struct plumb_report *r, FILE *out);
