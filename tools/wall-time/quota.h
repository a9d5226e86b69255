/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* quota: the CPU quota of a process, as its cgroups have it when a report is made. */
#pragma once

#include <stdint.h>

struct quota {
	long long limit, period; /* us */
	char cgroup[256]; /* that has it, of the hierarchy with the cpu controller; escaped */
};

/* Equal ones are the same; NULL: the process has none, or is gone. */
const struct quota *quota_of(uint32_t pid);
