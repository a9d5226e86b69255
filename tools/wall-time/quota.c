/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "quota.h"

#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/meanwhile/meanwhile.h>

/* One of each, for good: parts of reports refer to it. */
static const struct quota *kept(const struct quota *found)
{
	static struct quota **all;
	static size_t n;

	for (size_t i = 0; i < n; i++)
		if (!memcmp(all[i], found, sizeof(*found)))
			return all[i];
	*plumb_append(all, n) = plumb_zeroed(1, sizeof(*found));
	return memcpy(all[n - 1], found, sizeof(*found));
}

const struct quota *quota_of(const struct bpf_object *object, const struct wall_quota *key)
{
	struct quota found = {.limit = key->quota, .period = key->period};

	if (!key->period)
		return NULL;
	plumb_meanwhile_path(object, key->cgroup, found.cgroup, sizeof(found.cgroup));
	return kept(&found);
}

void quota_adopt(struct part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n && parts[i].cause == CAUSE_QUOTA && !parts[i].quota; j++)
			if (parts[j].quota && parts[j].pid == parts[i].pid)
				parts[i].quota = parts[j].quota;
}
