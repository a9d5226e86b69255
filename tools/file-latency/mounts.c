/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "mounts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line of /proc/self/mountinfo: ROOT, in the file system, is at POINT. */
struct mount {
	uint32_t dev;
	char *root, *point;
};

static struct mount *mounts;
static size_t n_mounts;

/* "\040" is a blank; three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; to++) {
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to = (text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0');
			text += 4;
		} else {
			*to = *text++;
		}
	}
	*to = 0;
}

static void forget(void)
{
	for (size_t i = 0; i < n_mounts; i++) {
		free(mounts[i].root);
		free(mounts[i].point);
	}
	free(mounts);
	mounts = NULL;
	n_mounts = 0;
}

static void add(unsigned int major, unsigned int minor, char *root, char *point)
{
	struct mount *more = reallocarray(mounts, n_mounts + 1, sizeof(*mounts));

	if (!more) {
		free(root);
		free(point);
		return;
	}
	unescape(root);
	unescape(point);
	mounts = more;
	mounts[n_mounts++] = (struct mount){major << 20 | minor, root, point};
}

static void read_mounts(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	unsigned int major, minor;
	char *line = NULL, *root, *point;
	size_t size = 0;

	forget();
	while (f && getline(&line, &size, f) >= 0)
		if (sscanf(line, "%*d %*d %u:%u %ms %ms", &major, &minor, &root, &point) == 4)
			add(major, minor, root, point);
	free(line);
	if (f)
		fclose(f);
}

/* Whether PATH is ROOT, or below it. */
static bool is_below(const char *path, const char *root)
{
	size_t length = strcmp(root, "/") ? strlen(root) : 0;

	return !strncmp(path, root, length) && (!path[length] || path[length] == '/');
}

/*
 * The mount that shows PATH of the file system on DEV; of several, the one that shows most of the
 * file system, and of these the first.
 */
static const struct mount *find(uint32_t dev, const char *path)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < n_mounts; i++)
		if (mounts[i].dev == dev && is_below(path, mounts[i].root) &&
		    (!best || strlen(mounts[i].root) < strlen(best->root)))
			best = &mounts[i];
	return best;
}

/* One that is not found may have been mounted meanwhile. */
static const struct mount *find_now(uint32_t dev, const char *path)
{
	const struct mount *m = find(dev, path);

	if (m)
		return m;
	read_mounts();
	return find(dev, path);
}

void mounts_name(uint32_t dev, char *text, size_t size)
{
	const struct mount *best = NULL;

	for (int i = 0; i < 2 && !best; i++) {
		if (i)
			read_mounts();
		for (size_t j = 0; j < n_mounts; j++)
			if (mounts[j].dev == dev &&
			    (!best || strlen(mounts[j].root) < strlen(best->root)))
				best = &mounts[j];
	}
	if (best)
		snprintf(text, size, "%s", best->point);
	else
		snprintf(text, size, "%u:%u", dev >> 20, dev & 0xfffff);
}

void mounts_path(uint32_t dev, const char *path, char *text, size_t size)
{
	const struct mount *m = find_now(dev, path);

	if (!m) {
		snprintf(text, size, "%u:%u:%s", dev >> 20, dev & 0xfffff, path);
		return;
	}
	path += strcmp(m->root, "/") ? strlen(m->root) : 0;
	if (!strcmp(path, "/"))
		path = "";
	snprintf(text, size, "%s%s", strcmp(m->point, "/") || !*path ? m->point : "", path);
}
