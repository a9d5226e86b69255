/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* metric: the figure that the workload prints of itself. */
#ifndef METRIC_H
#define METRIC_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

/* Does LINE match?  Then TEXT becomes what REGEX's first group matched. */
bool metric_find(const regex_t *regex, const char *line, char *text, size_t size);

/* 0, or -EINVAL if TEXT is not a number above 0, of which ratios can be made. */
int metric_parse(const char *text, double *value);

#endif
