/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <plumb/files/folder.h>

#define MOST_LINKS 40 /* as the kernel follows */

static bool (*spared)(const struct stat *st);

void plumb_files_spare(bool (*is)(const struct stat *st))
{
	spared = is;
}

bool plumb_file_is_spared(const struct stat *st)
{
	return spared && spared(st);
}

struct walk {
	int at;
	unsigned int links;
	char rest[PATH_MAX]; /* of the path */
};

/* Relative paths stay where the walk is. */
static int begin(struct walk *w, int at, const char *path)
{
	int fd = openat(at, *path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (w->at >= 0)
		close(w->at);
	w->at = fd;
	return fd < 0 ? -errno : 0;
}

static bool is_in_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* Puts what the link leads to before the rest of the path. */
static int follow(struct walk *w, int link, const struct stat *st)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t n;

	if (st->st_uid && st->st_uid != geteuid())
		return -ELOOP;
	if (++w->links > MOST_LINKS)
		return -EMLINK;
	n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = 0;
	memcpy(rest, w->rest, sizeof(rest));
	if (snprintf(w->rest, sizeof(w->rest), "%s/%s", target, rest) >= (int)sizeof(w->rest))
		return -ENAMETOOLONG;
	return begin(w, w->at, target);
}

/* The text of a link in /proc may not be a path: the kernel follows these. */
static int step(struct walk *w, const char *name)
{
	const int as_it_is = is_in_proc(w->at) ? 0 : O_NOFOLLOW;
	int fd = openat(w->at, name, O_PATH | O_DIRECTORY | O_CLOEXEC | as_it_is), err;
	struct stat st;

	if (fd >= 0) {
		close(w->at);
		w->at = fd;
		return 0;
	}
	if (errno != ENOTDIR)
		return -errno;
	fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : S_ISLNK(st.st_mode) ? follow(w, fd, &st) : -ENOTDIR;
	close(fd);
	return err;
}

int plumb_folder_of(int dir, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	const size_t length = slash ? slash + 1 - path : 0;
	struct walk w = {.at = -1};
	char next[NAME_MAX + 1];
	size_t n;
	int err;

	*name = path + length;
	if (length >= sizeof(w.rest))
		return -ENAMETOOLONG;
	memcpy(w.rest, path, length);
	err = begin(&w, dir, w.rest);
	while (!err) {
		n = strspn(w.rest, "/");
		memmove(w.rest, w.rest + n, strlen(w.rest + n) + 1);
		n = strcspn(w.rest, "/");
		if (!n)
			return w.at;
		if (n > NAME_MAX) {
			err = -ENAMETOOLONG;
			break;
		}
		memcpy(next, w.rest, n);
		next[n] = 0;
		memmove(w.rest, w.rest + n, strlen(w.rest + n) + 1);
		err = step(&w, next);
	}
	if (w.at >= 0)
		close(w.at);
	return err;
}
