/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "file-names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/symbols/maps.h>

/* A line of mountinfo, proc_pid_mountinfo(5). */
struct mount {
	int id;
	char *device, *root, *point;
};

/* "\040" is a blank. */
static void unescape(char *text)
{
	char *to = text;
	unsigned int byte;

	for (; *text; text++) {
		if (*text == '\\' && sscanf(text + 1, "%3o", &byte) == 1) {
			*to++ = (char)byte;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = 0;
}

static bool next_mount(FILE *f, char **line, size_t *room, struct mount *m)
{
	char *rest;

	if (getline(line, room, f) <= 0)
		return false;
	rest = *line;
	if (sscanf(rest, "%d", &m->id) != 1)
		return false;
	strsep(&rest, " ");
	strsep(&rest, " ");
	m->device = strsep(&rest, " ");
	m->root = strsep(&rest, " ");
	m->point = strsep(&rest, " ");
	if (!m->point)
		return false;
	unescape(m->root);
	unescape(m->point);
	return true;
}

/* What follows FOLDER in PATH, "" or "/..."; NULL: PATH is not below it. */
static const char *below(const char *path, const char *folder)
{
	const size_t n = strcmp(folder, "/") ? strlen(folder) : 0;

	return !strncmp(path, folder, n) && (!path[n] || path[n] == '/') ? path + n : NULL;
}

static bool link_of(const char *link, char *text, size_t size)
{
	ssize_t n = readlink(link, text, size - 1);

	if (n < 0 || (size_t)n == size - 1)
		return false;
	text[n] = 0;
	return true;
}

/* Of the namespace of the process below whose /proc/PID the path is, or of ours. */
static FILE *open_mounts(const char *path)
{
	char name[64], root[PATH_MAX];
	int pid;

	if (sscanf(path, "/proc/%d/", &pid) != 1)
		return fopen("/proc/self/mountinfo", "re");
	/* The mounts that it has are shown as it sees them, and names are not. */
	snprintf(name, sizeof(name), "/proc/%d/root", pid);
	if (!link_of(name, root, sizeof(root)) || strcmp(root, "/") != 0)
		return NULL;
	snprintf(name, sizeof(name), "/proc/%d/mountinfo", pid);
	return fopen(name, "re");
}

static int mount_of(int fd)
{
	struct statx st;

	return !statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) && st.stx_mask & STATX_MNT_ID
		       ? (int)st.stx_mnt_id
		       : -1;
}

/* Where the open file is: its file system's number, and names of PATH_MAX bytes. */
struct place {
	char device[32], here[PATH_MAX], inside[2 * PATH_MAX];
};

static int find_place(const char *shown, int fd, struct place *p)
{
	const int id = mount_of(fd);
	FILE *f = open_mounts(shown);
	const char *rest = NULL;
	struct mount m = {};
	char *line = NULL, link[64];
	size_t room = 0;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	while (f && id >= 0 && next_mount(f, &line, &room, &m)) {
		if (m.id != id)
			continue;
		rest = link_of(link, p->here, sizeof(p->here)) ? below(p->here, m.point) : NULL;
		break;
	}
	if (rest) {
		snprintf(p->device, sizeof(p->device), "%s", m.device);
		snprintf(p->inside, sizeof(p->inside), "%s%s", strcmp(m.root, "/") ? m.root : "",
			 rest);
	}
	free(line);
	if (f)
		fclose(f);
	return rest ? 0 : -ENOENT;
}

static int by_mounts(const struct place *p, int (*each)(const char *name, void *context),
		     void *context)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, name[3 * PATH_MAX];
	size_t room = 0;
	struct mount m;
	const char *rest;
	int err = f ? 0 : -errno;

	while (!err && next_mount(f, &line, &room, &m)) {
		rest = strcmp(m.device, p->device) ? NULL : below(p->inside, m.root);
		if (!rest)
			continue;
		snprintf(name, sizeof(name), "%s%s", strcmp(m.point, "/") ? m.point : "", rest);
		err = each(name, context);
	}
	free(line);
	if (f)
		fclose(f);
	return err;
}

static int by_place(const struct place *p, int (*each)(const char *name, void *context),
		    void *context)
{
	return each(p->here, context) ?: each(p->inside, context) ?: by_mounts(p, each, context);
}

int plumb_file_names(const char *path, const char *shown,
		     int (*each)(const char *name, void *context), void *context)
{
	const int fd = open(path, O_PATH | O_CLOEXEC);
	bool was_replaced = false;
	struct place place;
	int err = fd < 0 ? -errno : find_place(shown, fd, &place);

	if (!err)
		err = by_place(&place, each, context);
	/* A file that was replaced, and is still mapped, has the name that it had. */
	if (!err) {
		was_replaced = plumb_maps_cut_deleted(place.here);
		was_replaced |= plumb_maps_cut_deleted(place.inside);
	}
	if (was_replaced)
		err = by_place(&place, each, context);
	if (fd >= 0)
		close(fd);
	return err;
}
