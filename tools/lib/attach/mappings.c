/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/attach/mappings.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <plumb/base/parse.h>
#include <plumb/elf/binary.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void cut_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(path);

	if (n > sizeof(mark) - 1 && !strcmp(path + n - (sizeof(mark) - 1), mark))
		path[n - (sizeof(mark) - 1)] = 0;
}

/* Parses a line of maps; false: it is not of the code of a file that is searched for. */
static bool parse(const struct search *s, char *line, struct plumb_mapping *m)
{
	char permissions[8];
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*x %*x:%*x %" SCNu64 " %n", &m->start,
		   &m->end, permissions, &m->inode, &at) != 4 ||
	    !at || permissions[2] != 'x' || line[at] != '/')
		return false;
	m->path = line + at;
	cut_deleted(line + at);
	return (!s->inode || m->inode == s->inode) && (!s->path || !strcmp(m->path, s->path)) &&
	       (!s->name || plumb_binary_is_named(strrchr(m->path, '/') + 1, s->name));
}

static void search_process(const struct search *s, pid_t pid)
{
	struct plumb_mapping m = {.pid = pid};
	uint64_t last = 0;
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && getline(&line, &room, maps) >= 0) {
		if (!parse(s, line, &m) || m.inode == last)
			continue;
		last = m.inode;
		if (!s->path || plumb_mappings_share_files(pid, getpid()))
			s->each(s->context, &m);
	}
	free(line);
	if (maps)
		fclose(maps);
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

void plumb_mappings_of_inode(uint64_t inode,
			     void (*each)(void *context, const struct plumb_mapping *m),
			     void *context)
{
	const struct search s = {.inode = inode, .each = each, .context = context};

	search(&s);
}

static void name_link(const struct plumb_mapping *m, char *path, size_t size)
{
	snprintf(path, size, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, m->pid, m->start, m->end);
}

int plumb_mapping_open(const struct plumb_mapping *m)
{
	char path[96];
	int fd;

	name_link(m, path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int plumb_mapping_stat(const struct plumb_mapping *m, struct stat *st)
{
	char path[96];

	name_link(m, path, sizeof(path));
	return stat(path, st) ? -errno : 0;
}
