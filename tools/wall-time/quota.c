/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "quota.h"

#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/core/text.h>
#include <plumb/kernel/thread.h>

/* Where the cpu controller is: true: in a hierarchy of version 1; else in that of version 2. */
static bool find_mount(char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	bool is_old = false;

	*path = 0;
	while (mounts && !is_old && (m = getmntent(mounts))) {
		is_old = !strcmp(m->mnt_type, "cgroup") && hasmntopt(m, "cpu");
		if (is_old || (!*path && !strcmp(m->mnt_type, "cgroup2")))
			snprintf(path, size, "%s", m->mnt_dir);
	}
	if (mounts)
		endmntent(mounts);
	return is_old;
}

/* The group of a line "4:cpu,cpuacct:/web" or "0::/web"; NULL: it is of another controller. */
static char *group_of(char *line, bool is_old)
{
	char *controllers = strchr(line, ':'), *path, *word, *rest;

	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path)
		return NULL;
	*path++ = 0;
	path[strcspn(path, "\n")] = 0;
	controllers++;
	if (!is_old)
		return *controllers ? NULL : path;
	for (word = strtok_r(controllers, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		if (!strcmp(word, "cpu"))
			return path;
	return NULL;
}

static long long number_in(const char *folder, const char *file)
{
	char path[8192 + 32];
	long long value = 0;
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	in = fopen(path, "re");
	if (in && fscanf(in, "%lld", &value) != 1)
		value = 0;
	if (in)
		fclose(in);
	return value;
}

/* us; false: there is no limit. */
static bool limit_in(const char *folder, bool is_old, long long *limit, long long *period)
{
	char path[8192 + 32];
	int n = 0;
	FILE *in;

	if (is_old) {
		*limit = number_in(folder, "cpu.cfs_quota_us");
		*period = number_in(folder, "cpu.cfs_period_us");
		return *limit > 0 && *period > 0;
	}
	snprintf(path, sizeof(path), "%s/cpu.max", folder);
	in = fopen(path, "re");
	if (in) {
		n = fscanf(in, "%lld %lld", limit, period);
		fclose(in);
	}
	return n == 2 && *period > 0;
}

/* One of each, for good: parts of reports refer to it. */
static const struct quota *kept(const struct quota *found)
{
	static struct quota **all;
	static size_t n;

	for (size_t i = 0; i < n; i++)
		if (all[i]->limit == found->limit && all[i]->period == found->period &&
		    !strcmp(all[i]->cgroup, found->cgroup))
			return all[i];
	*plumb_append(all, n) = plumb_zeroed(1, sizeof(*found));
	return memcpy(all[n - 1], found, sizeof(*found));
}

const struct quota *quota_of(uint32_t pid)
{
	struct quota found = {}, *quota = &found;
	char mount[4096], line[4096], folder[8192];
	const bool is_old = find_mount(mount, sizeof(mount));
	long long limit, period;
	char *group = NULL, *end;
	FILE *in;

	snprintf(line, sizeof(line), "/proc/%u/cgroup", pid);
	in = *mount ? fopen(line, "re") : NULL;
	while (in && !group && fgets(line, sizeof(line), in))
		group = group_of(line, is_old);
	if (in)
		fclose(in);
	/* The least of its own and of those of the groups above it. */
	for (; group && *group; *end = 0) {
		snprintf(folder, sizeof(folder), "%s%s", mount, group);
		end = strrchr(group, '/');
		if (!limit_in(folder, is_old, &limit, &period) ||
		    (quota->period && limit * quota->period >= quota->limit * period))
			continue;
		quota->limit = limit;
		quota->period = period;
		plumb_escape_text(quota->cgroup, group, sizeof(quota->cgroup));
		if (!end)
			break;
	}
	return quota->period ? kept(quota) : NULL;
}
