/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <plumb/core/cli.h>
#include <plumb/core/privileges.h>
#include <plumb/files/atomic-file.h>
#include <plumb/files/folder.h>
#include <plumb/files/writer.h>

#define MAX_LINKS 8

/* Opens the directory of PATH, relative to R->dir, which it replaces; sets R->name. */
static int enter(struct plumb_atomic_file *r, const char *path)
{
	const char *name;
	int dir = plumb_folder_of(r->dir, path, &name);

	if (dir < 0)
		return dir;
	if (r->dir >= 0)
		close(r->dir);
	r->dir = dir;
	free(r->name);
	r->name = strdup(name);
	if (!r->name)
		return -ENOMEM;
	return *r->name ? 0 : -EISDIR;
}

/*
 * Whether another user may have created the file to deceive the caller.  Links that belong to
 * neither the caller nor root are never followed; fs.protected_symlinks refuses them in sticky
 * directories only.  For other files this is the rule of fs.protected_regular and
 * fs.protected_fifos.
 */
static bool is_foreign(const struct plumb_atomic_file *r)
{
	struct stat dir;

	if (r->was.st_uid == geteuid())
		return false;
	if (S_ISLNK(r->was.st_mode))
		return r->was.st_uid != 0;
	return fstat(r->dir, &dir) || (dir.st_mode & S_ISVTX && dir.st_mode & (S_IWGRP | S_IWOTH) &&
				       dir.st_uid != r->was.st_uid);
}

/* Inspects the file R->name: 0, -errno, or 1 for a link, to TARGET of PATH_MAX bytes. */
static int look(struct plumb_atomic_file *r, char *target)
{
	struct stat end;
	ssize_t n;

	if (fstatat(r->dir, r->name, &r->was, AT_SYMLINK_NOFOLLOW)) {
		r->was = (struct stat){};
		r->as_it_is = false;
		return errno == ENOENT ? 0 : -errno;
	}
	if (S_ISDIR(r->was.st_mode))
		return -EISDIR;
	if (is_foreign(r))
		return S_ISLNK(r->was.st_mode) ? -ELOOP : -EEXIST;
	if (plumb_file_is_spared(&r->was))
		return -ETXTBSY;
	r->as_it_is = !S_ISREG(r->was.st_mode);
	if (!S_ISLNK(r->was.st_mode))
		return 0;
	if (fstatat(r->dir, r->name, &end, 0)) {
		if (errno != ENOENT)
			return errno == ELOOP ? -EMLINK : -errno;
		/* What the caller's own link leads to is created. */
		if (r->was.st_uid != geteuid() || plumb_is_in_proc(r->dir))
			return -ENOLINK;
	} else if (plumb_is_in_proc(r->dir)) {
		/* /dev/stdout leads to /proc/self/fd, where a link's text may be no path. */
		r->was = end;
		return plumb_file_is_spared(&end) ? -ETXTBSY : 0;
	}
	n = readlinkat(r->dir, r->name, target, PATH_MAX);
	if (n < 0 || n == PATH_MAX)
		return n < 0 ? -errno : -ENAMETOOLONG;
	target[n] = 0;
	return 1;
}

int plumb_atomic_file_find(struct plumb_atomic_file *r, const char *path)
{
	char target[PATH_MAX];
	int err, links = 0;

	*r = (struct plumb_atomic_file){.dir = AT_FDCWD};
	err = enter(r, path) ?: look(r, target);
	while (err > 0)
		err = links++ < MAX_LINKS ? enter(r, target) ?: look(r, target) : -EMLINK;
	return err ? plumb_atomic_file_end(r, err) : 0;
}

/* O_NONBLOCK, since opening a pipe must not wait for a reader; later writes may block. */
static int open_as_it_is(struct plumb_atomic_file *r)
{
	int fd = openat(r->dir, r->name, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat now;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &now) || !plumb_is_same_file(&now, &r->was)) {
		close(fd);
		return -ESTALE;
	}
	fcntl(fd, F_SETFL, O_APPEND);
	return fd;
}

/* Gives the new file the owner, group and mode of the old one. */
static int inherit(int fd, const struct stat *was)
{
	struct stat new;

	if (fstat(fd, &new))
		return -errno;
	if ((new.st_uid != was->st_uid || new.st_gid != was->st_gid) &&
	    fchown(fd, was->st_uid, was->st_gid))
		return -errno;
	return fchmod(fd, was->st_mode & 0777) ? -errno : 0;
}

static int create(struct plumb_atomic_file *r)
{
	return openat(r->dir, r->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      r->was.st_mode ? 0600 : 0666);
}

static int link_new(struct plumb_atomic_file *r)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fileno(r->out));
	return linkat(AT_FDCWD, link, r->dir, r->beside, AT_SYMLINK_FOLLOW);
}

/*
 * Calls MAKE with a name that no file has.  Signals that end the process are blocked until that
 * name is renamed.  What MAKE returns, or -errno.
 */
static int name_beside(struct plumb_atomic_file *r, int (*make)(struct plumb_atomic_file *r))
{
	const sigset_t ends = plumb_signals_of_end();
	uint64_t random;
	int made = -1, err;

	sigprocmask(SIG_BLOCK, &ends, &r->signals);
	do {
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			break;
		snprintf(r->beside, sizeof(r->beside), ".plumb-%016" PRIx64, random);
		made = make(r);
	} while (made < 0 && errno == EEXIST);
	if (made >= 0)
		return made;
	err = -errno;
	*r->beside = 0;
	sigprocmask(SIG_SETMASK, &r->signals, NULL);
	return err;
}

/* Creates the new file: without a name, if the file system can, so that nothing is left of it. */
static int open_beside(struct plumb_atomic_file *r)
{
	int fd = openat(r->dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC,
			r->was.st_mode ? 0600 : 0666),
	    err;

	r->unnamed = fd >= 0;
	if (fd < 0)
		fd = name_beside(r, create);
	if (fd < 0)
		return fd;
	err = r->was.st_mode ? inherit(fd, &r->was) : 0;
	if (err)
		close(fd);
	return err ?: fd;
}

int plumb_atomic_file_open(struct plumb_atomic_file *r)
{
	int fd = r->as_it_is ? open_as_it_is(r) : open_beside(r), err = 0;

	if (fd < 0)
		err = fd;
	else if (!(r->out = fdopen(fd, "w"))) {
		err = -errno;
		close(fd);
	}
	return err ? plumb_atomic_file_end(r, err) : 0;
}

int plumb_atomic_file_begin(struct plumb_atomic_file *r, const char *path)
{
	if (plumb_writer_has(path))
		return plumb_writer_begin(r, path);
	return plumb_atomic_file_find(r, path) ?: plumb_atomic_file_open(r);
}

static int close_out(struct plumb_atomic_file *r, int err)
{
	if (!err && (fflush(r->out) || ferror(r->out)))
		err = -(errno ?: EIO);
	/* Only a new file is synced, not a device or pipe. */
	if (!err && !r->as_it_is && fsync(fileno(r->out)))
		err = -errno;
	if (!err && r->unnamed)
		err = name_beside(r, link_new);
	if (fclose(r->out) && !err)
		err = -errno;
	return err;
}

/* Renames the new file, if the old one (or its absence) is unchanged. */
static int take_name(const struct plumb_atomic_file *r)
{
	struct stat now = {};

	if (fstatat(r->dir, r->name, &now, AT_SYMLINK_NOFOLLOW) && errno != ENOENT)
		return -errno;
	if (!plumb_is_same_file(&now, &r->was))
		return -ESTALE;
	return renameat(r->dir, r->beside, r->dir, r->name) ? -errno : 0;
}

/* The name of the Ith old file; -ENAMETOOLONG. */
static int old_name(const struct plumb_atomic_file *r, unsigned int i, char *name)
{
	return snprintf(name, NAME_MAX + 1, "%s.%u", r->name, i) <= NAME_MAX ? 0 : -ENAMETOOLONG;
}

int plumb_atomic_file_rotate(struct plumb_atomic_file *r, unsigned int most)
{
	char from[NAME_MAX + 1], to[NAME_MAX + 1];
	struct stat st;
	int err;

	r->most = most;
	if (r->writer || r->as_it_is || !r->was.st_mode || most < 2)
		return 0;
	if (fflush(r->out) || ferror(r->out))
		return -(errno ?: EIO);
	for (unsigned int i = 1; i < most; i++) {
		err = old_name(r, i, from);
		if (!err && !fstatat(r->dir, from, &st, AT_SYMLINK_NOFOLLOW) &&
		    plumb_file_is_spared(&st))
			err = -ETXTBSY;
		if (err)
			return err;
	}
	for (unsigned int i = most - 1; i > 1; i--) {
		err = old_name(r, i - 1, from) ?: old_name(r, i, to);
		if (!err && renameat(r->dir, from, r->dir, to) && errno != ENOENT)
			err = -errno;
		if (err)
			return err;
	}
	err = old_name(r, 1, to);
	if (err)
		return err;
	/* By a second name, the file stays where it is until the new one takes its place. */
	if (unlinkat(r->dir, to, 0) && errno != ENOENT)
		return -errno;
	if (!linkat(r->dir, r->name, r->dir, to, 0))
		return 0;
	if (renameat(r->dir, r->name, r->dir, to))
		return -errno;
	r->was = (struct stat){};
	return 0;
}

uint64_t plumb_atomic_file_takes(const struct plumb_atomic_file *r)
{
	const uint64_t others = PLUMB_CAP(DAC_OVERRIDE) | PLUMB_CAP(FOWNER);
	const bool is_new = !r->was.st_mode;
	uint64_t takes = 0;
	struct stat dir;

	/* The new file gets the old one's owner and group. */
	if (!is_new && !r->as_it_is && (r->was.st_uid != geteuid() || r->was.st_gid != getegid()))
		takes = PLUMB_CAP(CHOWN);
	if ((!is_new && r->was.st_uid != geteuid()) ||
	    (!r->as_it_is &&
	     (fstat(r->dir, &dir) || dir.st_uid != geteuid() || !(dir.st_mode & S_IWUSR))))
		takes |= others;
	return takes;
}

int plumb_atomic_file_end(struct plumb_atomic_file *r, int err)
{
	if (r->writer)
		return plumb_writer_end(r, err);
	if (r->out)
		err = close_out(r, err);
	if (*r->beside) {
		err = err ?: take_name(r);
		if (err)
			unlinkat(r->dir, r->beside, 0);
		sigprocmask(SIG_SETMASK, &r->signals, NULL);
	}
	if (r->dir >= 0)
		close(r->dir);
	free(r->name);
	*r = (struct plumb_atomic_file){.dir = -1};
	return err;
}

const char *plumb_atomic_file_error(int err)
{
	switch (err) {
	case -ENXIO:
		return "it has no reader";
	case -ENOLINK:
		return "it is a dangling symbolic link";
	case -EMLINK:
		return "its symbolic links form a loop";
	case -ELOOP:
		return "another user's symbolic link is not followed";
	case -EEXIST:
		return "it is another user's, in a directory where all users may write";
	case -ETXTBSY:
		return "it is the file of the audit records";
	case -EOWNERDEAD:
		return "plumb-writer, which writes it, was killed";
	case -ETIMEDOUT:
		return "plumb-writer, which writes it, has not answered for 10 s";
	case -ESTALE:
		return "another process changed it meanwhile";
	default:
		return strerror(-err);
	}
}
