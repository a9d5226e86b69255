/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* callers: where in user code the calls are made that take the time. */
#pragma once

#include <stdio.h>

struct calls;
struct plumb_report;

/* Prints the user stacks with the largest shares of the time of CALLS. */
void callers_print(const struct calls *calls, const struct plumb_report *r, FILE *out);
