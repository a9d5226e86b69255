/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* metric: a figure that the workload prints. */
#ifndef METRIC_H
#define METRIC_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

/* Return whether LINE matches; then TEXT is what the first group of REGEX matched. */
bool metric_find(const regex_t *regex, const char *line, char *text, size_t size);

/* 0, or -EINVAL if TEXT is not a number above 0, which ratios need. */
int metric_parse(const char *text, double *value);

#endif
