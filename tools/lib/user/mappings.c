/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/user/mappings.h>

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/parse.h>
#include <plumb/symbols/binary.h>

/* Whether NAME ("root", "ns/mnt") of both processes is the same file. */
static bool has_same(pid_t first, pid_t second, const char *name)
{
	char path[64];
	struct stat a, b;

	snprintf(path, sizeof(path), "/proc/%d/%s", first, name);
	if (stat(path, &a))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/%s", second, name);
	return !stat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool plumb_mappings_share_files(pid_t a, pid_t b)
{
	return a == b || (has_same(a, b, "ns/mnt") && has_same(a, b, "root"));
}

/* A search in one process. */
struct visit {
	pid_t pid;
	const struct plumb_mapped *what;
	plumb_mapping_visitor *each;
	void *context;
	uint64_t last; /* inode: the areas of a file follow one another */
};

static bool is_wanted(const struct plumb_mapped *w, const struct plumb_vma *area)
{
	return area->is_code && *area->path == '/' && (!w->inode || area->inode == w->inode) &&
	       (!w->path || !strcmp(area->path, w->path)) &&
	       (!w->name || plumb_binary_is_named(strrchr(area->path, '/') + 1, w->name));
}

static int visit_area(void *context, struct plumb_vma *area)
{
	struct visit *v = context;

	if (!is_wanted(v->what, area) || area->inode == v->last)
		return 0;
	v->last = area->inode;
	if (!v->what->path || plumb_mappings_share_files(v->pid, getpid()))
		v->each(v->context, v->pid, area);
	return 0;
}

void plumb_mappings_find(pid_t pid, const struct plumb_mapped *what, plumb_mapping_visitor *each,
			 void *context)
{
	char *real = what->path ? realpath(what->path, NULL) : NULL;
	const struct plumb_mapped w = {real ?: what->path, what->name, what->inode};
	const struct visit begin = {.pid = pid, .what = &w, .each = each, .context = context};
	DIR *proc = pid ? NULL : opendir("/proc");
	struct dirent *entry;
	struct visit v = begin;
	uint64_t number;

	if (pid)
		plumb_maps_of(pid, visit_area, &v);
	while (proc && (entry = readdir(proc))) {
		if (plumb_parse_u64(entry->d_name, 1, INT_MAX, &number))
			continue;
		v = begin;
		v.pid = number;
		plumb_maps_of(number, visit_area, &v);
	}
	if (proc)
		closedir(proc);
	free(real);
}
