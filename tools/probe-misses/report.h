/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report: rows as a table, or as a JSON line. */
#pragma once

#include "rows.h"
#include <stdio.h>

struct report {
	const struct rows *rows;
	const struct census *now;
	struct timespec start; /* CLOCK_REALTIME */
	uint64_t seq;
	bool final;
	bool timed;     /* begins with the time of day */
	bool all;       /* also programs that neither ran nor ever missed anything */
	size_t top;     /* rows of the table, 0: all */
	bool on_before; /* statistics were enabled before this program */
};

/* Print the table, and the notes below it. */
void report_rows(const struct report *r, FILE *out);
void report_footer(const struct report *r, FILE *out);
/* Clear the screen and print both, cut to its height. */
void report_redraw(const struct report *r, FILE *out);
/* 0 or -errno. */
int report_json(const struct report *r, FILE *out);
