// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Perf maps: "START SIZE NAME" in hexadecimal, one line per function that a JIT has compiled, in
 * /tmp/perf-PID.map, with /tmp and PID as the process sees them.  Anyone can write to /tmp, so the
 * owner of the file is checked.
 */
#include "symbols.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Maximum number of bytes that are read of a map; node.js writes some 10 MB. */
#define MAP_MAX (64 << 20)

#define LINE_MAX_LENGTH 2048

/* Opens the map if it belongs to one of OWNERS; its descriptor, or -errno. */
static int open_map(struct plumb_symbolizer *s, pid_t pid, int root,
		    const struct plumb_owners *owners, struct stat *st)
{
	char path[64], why[PLUMB_WHY];
	int fd;

	if (!owners->pid)
		return -ESRCH;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", owners->pid);
	fd = plumb_open_in_root(root, path, false);
	if (fd < 0) {
		if (fd != -ENOENT)
			plumb_symbolizer_unread(s, path,
						fd == -EINVAL ? "not a file" : strerror(-fd));
		return fd;
	}
	if (!fstat(fd, st) && plumb_owners_have(owners, st->st_uid))
		return fd;
	plumb_symbolizer_foreign(s, path, plumb_owner_text(pid, st->st_uid, why, sizeof(why)));
	close(fd);
	return -EPERM;
}

/* "START SIZE NAME" */
static bool read_line(struct plumb_symtab *t, const char *line)
{
	uint64_t address, size;
	int64_t name;
	char *end;

	address = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	line = end + 1;
	size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || !end[1] || !size)
		return false;
	name = plumb_symtab_text(t, end + 1, strlen(end + 1));
	return name >= 0 && !plumb_symtab_add(t, address, size, name, 0);
}

/* Reads complete lines from the current position; returns the number of malformed ones. */
static uint64_t read_lines(struct plumb_perfmap *map, FILE *f)
{
	char line[LINE_MAX_LENGTH];
	uint64_t bad = 0;
	size_t n = 0;
	int c;

	while (map->parsed + n < MAP_MAX && (c = getc_unlocked(f)) != EOF) {
		if (c != '\n') {
			if (n < sizeof(line))
				line[n] = c;
			n++;
			continue;
		}
		map->last_size = n < sizeof(map->last) ? n : sizeof(map->last);
		memcpy(map->last, line, map->last_size);
		line[n < sizeof(line) ? n : 0] = 0;
		bad += !read_line(&map->table, line);
		map->last_whole = n + 1;
		map->parsed += n + 1;
		n = 0;
	}
	return bad;
}

/* Whether the file is another one than was read, or was written anew. */
static bool is_other(const struct plumb_perfmap *map, int fd, const struct stat *st)
{
	const struct stat *was = &map->st;
	char last[sizeof(map->last)];

	if (st->st_dev != was->st_dev || st->st_ino != was->st_ino || st->st_size < was->st_size)
		return true;
	if (st->st_size == was->st_size)
		return st->st_mtim.tv_sec != was->st_mtim.tv_sec ||
		       st->st_mtim.tv_nsec != was->st_mtim.tv_nsec;
	return pread(fd, last, map->last_size, map->parsed - map->last_whole) !=
		       (ssize_t)map->last_size ||
	       memcmp(last, map->last, map->last_size);
}

static bool is_known(struct plumb_symtab *before, const struct plumb_symtab *t,
		     const struct plumb_symtab_entry *e)
{
	const struct plumb_symtab_entry *b = plumb_symtab_find(before, e->address);

	return b && b->address == e->address && b->size == e->size &&
	       b->is_reused >= e->is_reused && !strcmp(before->text + b->name, t->text + e->name);
}

/* Forgets the names of the file, except that their addresses had them. */
static void begin_anew(struct plumb_perfmap *map)
{
	struct plumb_symtab *t = &map->table, *before = &map->before;
	struct plumb_symtab_entry *e;
	int64_t name;

	plumb_symtab_find(t, 0); /* each address once */
	for (e = t->all; e < t->all + t->n; e++)
		e->shown = is_known(before, t, e) ? "" : NULL;
	for (e = t->all; e < t->all + t->n; e++) {
		name = e->shown ? -1
				: plumb_symtab_text(before, t->text + e->name,
						    strlen(t->text + e->name));
		if (name >= 0 && !plumb_symtab_add(before, e->address, e->size, name, 0))
			before->all[before->n - 1].is_reused = e->is_reused;
	}
	plumb_symtab_free(t);
	*map = (struct plumb_perfmap){.before = *before};
	map->table.is_log = map->before.is_log = true;
}

uint64_t plumb_perfmap_update(struct plumb_symbolizer *s, struct plumb_process *p, int root,
			      const struct plumb_owners *owners)
{
	struct plumb_perfmap *map = &p->perf;
	struct stat st;
	int fd = open_map(s, p->pid, root, owners, &st);
	uint64_t bad = 0;
	FILE *f;

	if (fd < 0)
		return 0;
	if (is_other(map, fd, &st))
		begin_anew(map);
	f = st.st_size > map->st.st_size ? fdopen(fd, "r") : NULL;
	map->st = st;
	if (!f) {
		close(fd);
		return 0;
	}
	if (!fseeko(f, map->parsed, SEEK_SET))
		bad = read_lines(map, f);
	fclose(f);
	return bad;
}
