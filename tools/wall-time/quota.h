/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* quota: which CPU quotas were used up. */
#pragma once

#include "account.h"

struct bpf_object;
struct wall_quota;

struct quota {
	uint64_t limit, period; /* ns */
	char cgroup[256];       /* that has it, of the hierarchy with the cpu controller; escaped */
};

/* Equal ones are the same. */
const struct quota *quota_of(const struct bpf_object *object, const struct wall_quota *key);

/* For a wait that has not ended, of which it is not known yet: what its thread lacked before. */
void quota_adopt(struct part *parts, size_t n);
