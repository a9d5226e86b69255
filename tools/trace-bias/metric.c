/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "metric.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool metric_find(const regex_t *regex, const char *line, char *text, size_t size)
{
	regmatch_t match[2];

	if (regexec(regex, line, 2, match, 0) || match[1].rm_so < 0)
		return false;
	snprintf(text, size, "%.*s", (int)(match[1].rm_eo - match[1].rm_so), line + match[1].rm_so);
	return true;
}

int metric_parse(const char *text, double *value)
{
	char *end;
	double n = strtod(text, &end);

	/* strtod() also accepts 0x10. */
	if (end == text || *end || strpbrk(text, "xX") || !isfinite(n) || n <= 0)
		return -EINVAL;
	*value = n;
	return 0;
}
