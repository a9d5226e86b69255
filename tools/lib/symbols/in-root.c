// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Opening paths that other users may have chosen.
 *
 * Paths below the root of a process are followed here, one name at a time: openat2() would do it
 * (RESOLVE_IN_ROOT), but a tool that is confined has none, since its flags cannot be filtered.
 */
#include <plumb/symbols/debugfile.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MAX_LINKS 40
#define MAX_DEPTH 64

/*
 * Opens the file of PATH, an O_PATH descriptor that it takes, if it is a regular file; or -errno.
 */
static int open_regular(int path)
{
	char link[64];
	struct stat st;
	int fd, err;

	if (path < 0)
		return path;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
	fd = fstat(path, &st) || !S_ISREG(st.st_mode)
		     ? -EINVAL
		     : open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	err = fd == -1 ? -errno : fd;
	close(path);
	return err;
}

int plumb_open_here(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	return open_regular(fd < 0 ? -errno : fd);
}

/* Where a walk is: the directories from the root to it, and what is left of the path. */
struct walk {
	int root;
	int below[MAX_DEPTH];
	size_t depth;
	char rest[2 * PATH_MAX];
	int links;
};

static void go_up(struct walk *w, size_t depth)
{
	while (w->depth > depth)
		close(w->below[--w->depth]);
}

/* Puts the target of LINK, which it closes, before the rest of the path. */
static int follow_link(struct walk *w, int link, const char *rest)
{
	char target[PATH_MAX], all[2 * PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
	int err = n < 0 ? -errno : ++w->links > MAX_LINKS ? -ELOOP : 0;
	struct statfs fs;

	/* Those of /proc lead to files that their text does not name. */
	if (!err && (fstatfs(link, &fs) || fs.f_type == PROC_SUPER_MAGIC))
		err = -ELOOP;
	close(link);
	if (err)
		return err;
	target[n] = 0;
	if (snprintf(all, sizeof(all), "%s/%s", target, rest) >= (int)sizeof(all))
		return -ENAMETOOLONG;
	strcpy(w->rest, all);
	if (*target == '/')
		go_up(w, 0);
	return 0;
}

/* Goes on by one name.  0, -errno, or 1 with the descriptor of the last one in FD. */
static int step(struct walk *w, bool follow, int *fd)
{
	char *name = w->rest + strspn(w->rest, "/"), *rest = name + strcspn(name, "/");
	struct stat st;

	if (!*name)
		return -EISDIR;
	if (*rest)
		*rest++ = 0;
	rest += strspn(rest, "/");
	if (!strcmp(name, ".."))
		go_up(w, w->depth ? w->depth - 1 : 0);
	if (!strcmp(name, "..") || !strcmp(name, ".")) {
		memmove(w->rest, rest, strlen(rest) + 1);
		return 0;
	}
	*fd = openat(w->depth ? w->below[w->depth - 1] : w->root, name,
		     O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (*fd < 0)
		return -errno;
	if (!fstat(*fd, &st) && S_ISLNK(st.st_mode) && (follow || *rest))
		return follow_link(w, *fd, rest);
	if (!*rest)
		return 1;
	if (w->depth == MAX_DEPTH) {
		close(*fd);
		return -ENAMETOOLONG;
	}
	w->below[w->depth++] = *fd;
	memmove(w->rest, rest, strlen(rest) + 1);
	return 0;
}

int plumb_open_in_root(int dir, const char *path, bool follow)
{
	struct walk w = {.root = dir};
	int fd, err;

	if (snprintf(w.rest, sizeof(w.rest), "%s", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	do
		err = step(&w, follow, &fd);
	while (!err);
	go_up(&w, 0);
	return open_regular(err < 0 ? err : fd);
}

int plumb_open_inode_in_root(int dir, const char *path, uint64_t inode)
{
	int fd = plumb_open_in_root(dir, path, true);
	struct statfs fs;
	struct stat st;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) &&
	    (st.st_ino == inode || (!fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC)))
		return fd;
	close(fd);
	return -ESTALE;
}
