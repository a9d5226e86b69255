/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* counters: what the kernel itself counts, of the tool's network namespace. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of FILE, "/proc/net/snmp" or "/proc/net/netstat": NAME in the two lines of GROUP; -1: none. */
static inline int64_t net_counter(const char *file, const char *group, const char *name)
{
	char *names = NULL, *values = NULL, *n, *v, *rest_n, *rest_v;
	const size_t length = strlen(group);
	size_t size_n = 0, size_v = 0;
	int64_t found = -1;
	FILE *in = fopen(file, "re");

	while (in && getline(&names, &size_n, in) > 0 && getline(&values, &size_v, in) > 0) {
		if (strncmp(names, group, length) != 0)
			continue;
		n = strtok_r(names, " \n", &rest_n);
		v = strtok_r(values, " \n", &rest_v);
		for (; n && v && strcmp(n, name) != 0; v = strtok_r(NULL, " \n", &rest_v))
			n = strtok_r(NULL, " \n", &rest_n);
		if (n && v)
			found = strtoll(v, NULL, 10);
		break;
	}
	if (in)
		fclose(in);
	free(names);
	free(values);
	return found;
}
