/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fields.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/text.h>
#include <plumb/kernel/map.h>

#include <bpf/libbpf.h>

static const struct bpf_object *used;

static const char *const ops[FILE_OPS] = {
	[FILE_READ] = "read",
	[FILE_WRITE] = "write",
	[FILE_OPEN] = "open",
	[FILE_FSYNC] = "fsync",
	[FILE_SYNC_RANGE] = "sync_file_range",
	[FILE_MMAP] = "mmap",
	[FILE_SENDFILE] = "sendfile",
	[FILE_SPLICE] = "splice",
	[FILE_COPY_RANGE] = "copy_file_range",
};

void file_fields_use(const struct bpf_object *object)
{
	used = object;
}

void file_op_format(uint32_t op, char *text, size_t size)
{
	uint32_t call = op & FILE_OP_MASK;

	snprintf(text, size, "%s%s",
		 op & FILE_BY_URING ? "io_uring:"
		 : op & FILE_BY_AIO ? "aio:"
				    : "",
		 call < FILE_OPS ? ops[call] : "-");
}

enum file_op file_op_find(const char *name)
{
	enum file_op op = 0;

	while (op < FILE_OPS && strcmp(ops[op], name))
		op++;
	return op;
}

/* ---- where file systems are mounted, in the mount namespace of the tool ---- */

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
 * The mount that shows PATH, or if that is NULL any, of the file system on DEV; of several, the one
 * that shows most of the file system, and of these the first.
 */
static const struct mount *find(uint32_t dev, const char *path)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < n_mounts; i++)
		if (mounts[i].dev == dev && (!path || is_below(path, mounts[i].root)) &&
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

/* The mount point of the file system on DEV (major << 20 | minor), or "MAJOR:MINOR". */
static void mounts_name(uint32_t dev, char *text, size_t size)
{
	const struct mount *m = find_now(dev, NULL);

	if (m)
		snprintf(text, size, "%s", m->point);
	else
		snprintf(text, size, "%u:%u", dev >> 20, dev & 0xfffff);
}

/*
 * The path of the file that has PATH in that file system. If that part of it is not mounted here,
 * "MAJOR:MINOR:PATH".
 */
static void mounts_path(uint32_t dev, const char *path, char *text, size_t size)
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

/* ---- the fields ---- */

/* Copies FROM, escaped; of what does not fit, the end, after "...". */
static void escape_end(char *to, const char *from, size_t size)
{
	char escaped[4 * 4096];
	size_t length;

	plumb_escape(escaped, from, sizeof(escaped));
	length = strlen(escaped);
	if (length < size)
		snprintf(to, size, "%s", escaped);
	else
		snprintf(to, size, "...%s", escaped + length - (size - 4));
}

static void format_mount(const void *key, char *text, size_t size)
{
	const struct file_key *k = key;
	char point[4096] = "-";

	if (k->id.dev)
		mounts_name(k->id.dev, point, sizeof(point));
	escape_end(text, point, size);
}

/* The names of P, the last first, as a path; ".../" begins one that was not read to its root. */
static void join(const struct file_path *p, char *path, size_t size)
{
	uint32_t starts[FILE_PATH_DEPTH], n = 0, at = 0;
	size_t used = 0;

	while (n < FILE_PATH_DEPTH && at < p->length) {
		starts[n++] = at;
		at += strnlen(p->names + at, sizeof(p->names) - at) + 1;
	}
	used = snprintf(path, size, "%s", p->state == FILE_PATH_WHOLE ? "" : "...");
	while (n-- && used < size)
		/* The root itself is called "/". */
		used += snprintf(path + used, size - used, "%s%s",
				 p->names[starts[n]] == '/' ? "" : "/", p->names + starts[n]);
}

static void format_file(const void *key, char *text, size_t size)
{
	const struct file_key *k = key;
	char path[FILE_PATH_LEN + FILE_NAME_LEN + 64], full[4096 + sizeof(path)];
	int map = used ? bpf_object__find_map_fd_by_name(used, "file_paths") : -1;
	struct file_path names;

	if (!k->id.ino) {
		snprintf(text, size, "-");
		return;
	}
	if (map < 0 || plumb_map_lookup(map, &k->id, &names) || !names.length) {
		snprintf(text, size, "%u:%u:inode %llu", k->id.dev >> 20, k->id.dev & 0xfffff,
			 (unsigned long long)k->id.ino);
		return;
	}
	join(&names, path, sizeof(path));
	if (names.state == FILE_PATH_WHOLE)
		mounts_path(k->id.dev, path, full, sizeof(full));
	else
		snprintf(full, sizeof(full), "%s", path);
	escape_end(text, full, size);
}

static void format_op(const void *key, char *text, size_t size)
{
	file_op_format(((const struct file_key *)key)->op, text, size);
}

static const char *const flags[FILE_FLAGS] = {
	[FILE_DIRECT] = "direct", [FILE_SYNC] = "sync", [FILE_DSYNC] = "dsync"};

static const char *const cache_states[FILE_CACHE_STATES] = {
	[FILE_CACHE_NONE] = "-",
	[FILE_CACHE_HIT] = "hit",
	[FILE_CACHE_MISS] = "miss",
	[FILE_CACHE_DIRECT] = "direct",
};

const struct plumb_field file_fields[FILE_N_FIELDS] = {
	{PLUMB_FIELD("fs", FILE_BY_FS, PLUMB_WORD, file_key, fs)},
	{"mount", FILE_BY_MOUNT, .format = format_mount},
	{"file", FILE_BY_FILE, .format = format_file},
	{"op", FILE_BY_OP, .format = format_op},
	{PLUMB_NAMED_FIELD("flags", FILE_BY_FLAGS, PLUMB_FLAGS, file_key, flags, flags)},
	{PLUMB_FIELD("size", FILE_BY_SIZE, PLUMB_BYTES_2, file_key, size)},
	{PLUMB_NAMED_FIELD("cache", FILE_BY_CACHE, PLUMB_NAME, file_key, cache, cache_states)},
	{PLUMB_FIELD("errno", FILE_BY_ERRNO, PLUMB_ERRNO, file_key, error)},
};
