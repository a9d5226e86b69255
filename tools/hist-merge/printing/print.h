/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* print: results, as tables, JSON, or files of HdrHistogram's plotter. */
#pragma once

#include "results/read.h"
#include <inttypes.h>

/* "1 report", "2 reports": a format, and its arguments. */
#define MANY       "%" PRIu64 " %s%s"
#define N(n, what) (uint64_t)(n), what, (n) == 1 ? "" : "s"

/* 0, -EPIPE if the reader has closed the output, or -errno after a message. */
int print_table(const struct result *r);
int print_json(const struct result *r);
int print_hgrm(const struct result *r);
int print_openmetrics(const struct result *r);

/* Whether the file of --openmetrics can be written, and what that takes: 0 or -errno after a
 * message. */
int openmetrics_try(const struct options *o, uint64_t *takes);

/* What print_json() prints, as one object. */
json_t *print_report(const struct result *r);

/* A member of a key as text; malloc'd. */
char *print_scalar(const json_t *value);
/* A key as text: "comm=cat syscall=read", "[all]", "[other]"; malloc'd. */
char *print_key(const char *key);
/* In bytes, or the unit of --unit. */
enum plumb_unit print_unit(const struct reading *r, int measure);
/* RFC 3339 without fractions, UTC. */
const char *print_time(uint64_t ns, char *text, size_t size);
