/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* print: results, as tables, JSON, or files of HdrHistogram's plotter. */
#ifndef PRINT_H
#define PRINT_H

#include "results/read.h"

/* 0, -EPIPE if the reader has closed the output, or -errno after a message. */
int print_table(const struct result *r);
int print_json(const struct result *r);
int print_hgrm(const struct result *r);

/* After printing: what these return. */
int print_end(void);

/* What print_json() prints, as one object. */
json_t *print_report(const struct result *r);

/* A key as text: "comm=cat syscall=read", "[all]", "[other]"; malloc'd. */
char *print_key(const char *key);
/* RFC 3339 without fractions, UTC. */
const char *print_time(uint64_t ns, char *text, size_t size);

#endif
