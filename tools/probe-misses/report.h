/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report: rows as a table, or as a JSON line. */
#ifndef REPORT_H
#define REPORT_H

#include "rows.h"
#include <stdio.h>

struct report {
	const struct rows *rows;
	const struct census *now;
	struct timespec start; /* CLOCK_REALTIME */
	uint64_t seq;
	bool final;
	bool timed;     /* begins with the time of day */
	bool all;       /* also what neither ran nor ever missed anything */
	size_t top;     /* rows of the table, 0: all */
	bool on_before; /* were statistics on before this began? */
};

/* The table; what is to be read below it. */
void report_rows(const struct report *r, FILE *out);
void report_footer(const struct report *r, FILE *out);
/* Both, on a cleared screen, as far as it has room. */
void report_redraw(const struct report *r, FILE *out);
/* 0 or -errno. */
int report_json(const struct report *r, FILE *out);

#endif
