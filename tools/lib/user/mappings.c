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
#include <plumb/symbols/debugfile.h>
#include <plumb/symbols/maps.h>

struct search {
	const char *path; /* NULL: any */
	const char *name; /* the same */
	uint64_t inode;   /* 0: any */
	void (*each)(void *context, const struct plumb_mapping *m);
	void *context;
};

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
	const struct search *search;
	struct plumb_mapping m;
	uint64_t last; /* inode: the areas of a file follow one another */
};

static bool is_wanted(const struct search *s, const struct plumb_vma *vma)
{
	return vma->is_code && *vma->path == '/' && (!s->inode || vma->inode == s->inode) &&
	       (!s->path || !strcmp(vma->path, s->path)) &&
	       (!s->name || plumb_binary_is_named(strrchr(vma->path, '/') + 1, s->name));
}

static int visit_area(void *context, struct plumb_vma *vma)
{
	struct visit *v = context;

	if (!is_wanted(v->search, vma) || vma->inode == v->last)
		return 0;
	v->last = vma->inode;
	v->m.start = vma->start;
	v->m.end = vma->end;
	v->m.inode = vma->inode;
	v->m.path = vma->path;
	if (!v->search->path || plumb_mappings_share_files(v->m.pid, getpid()))
		v->search->each(v->search->context, &v->m);
	return 0;
}

static void search_process(const struct search *s, pid_t pid)
{
	struct visit v = {.search = s, .m.pid = pid};

	plumb_maps_of(pid, visit_area, &v);
}

static void search(const struct search *s)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	uint64_t pid;

	while (proc && (entry = readdir(proc)))
		if (!plumb_parse_u64(entry->d_name, 1, INT_MAX, &pid))
			search_process(s, pid);
	if (proc)
		closedir(proc);
}

void plumb_mappings_of_path(const char *path,
			    void (*each)(void *context, const struct plumb_mapping *m),
			    void *context)
{
	char *real = realpath(path, NULL);
	const struct search s = {.path = real ?: path, .each = each, .context = context};

	search(&s);
	free(real);
}

void plumb_mappings_of_name(pid_t pid, const char *name,
			    void (*each)(void *context, const struct plumb_mapping *m),
			    void *context)
{
	const struct search s = {.name = name, .each = each, .context = context};

	search_process(&s, pid);
}

void plumb_mappings_of_inode(pid_t pid, uint64_t inode,
			     void (*each)(void *context, const struct plumb_mapping *m),
			     void *context)
{
	const struct search s = {.inode = inode, .each = each, .context = context};

	if (pid)
		search_process(&s, pid);
	else
		search(&s);
}

static struct plumb_vma area_of(const struct plumb_mapping *m)
{
	return (struct plumb_vma){
		.start = m->start, .end = m->end, .inode = m->inode, .path = (char *)m->path};
}

int plumb_mapping_open(const struct plumb_mapping *m)
{
	const struct plumb_vma area = area_of(m);

	return plumb_map_open(m->pid, &area);
}

int plumb_mapping_stat(const struct plumb_mapping *m, struct stat *st)
{
	const struct plumb_vma area = area_of(m);

	return plumb_map_stat(m->pid, &area, st);
}
