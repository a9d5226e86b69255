/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <plumb/core/log.h>
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

bool plumb_is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool plumb_is_in_proc(int fd)
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
	const int as_it_is = plumb_is_in_proc(w->at) ? 0 : O_NOFOLLOW;
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

/* --- one tool for a file --- */

static int owner_of(int fd, const struct sockaddr_un *address, socklen_t size)
{
	struct ucred who = {};
	socklen_t n = sizeof(who);

	if (connect(fd, (const struct sockaddr *)address, size) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n))
		return 0;
	/* Anybody can bind the name. */
	return who.uid == 0 || who.uid == geteuid() ? who.pid : 0;
}

/* The process that has it; 0: this one, from now on.  An abstract socket's name is free again when
 * its process has ended, however that was. */
static int claim(int folder, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint64_t hash = 0xcbf29ce484222325;
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size;
	struct stat st;
	int pid = 0;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	if (fd < 0 || fstat(folder, &st))
		return 0;
	size = offsetof(struct sockaddr_un, sun_path) + 1 +
	       snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			"plumb-%" PRIx64 "-%" PRIx64 "-%" PRIx64, (uint64_t)st.st_dev,
			(uint64_t)st.st_ino, hash);
	/* Of a tool that was killed, a child may live a little longer. */
	for (int i = 0; i < 20; i++) {
		if (!bind(fd, (struct sockaddr *)&address, size) && !listen(fd, 1))
			return 0;
		if (errno != EADDRINUSE)
			break;
		usleep(50000);
	}
	if (errno == EADDRINUSE)
		pid = owner_of(fd, &address, size);
	close(fd);
	return pid;
}

int sole_claim(const char *option, const char *path, int folder, const char *name)
{
	const int other = claim(folder, name);

	return other ? plumb_error(EBUSY, "%s: %s is written by process %d: name another file",
				   option, path, other)
		     : 0;
}
