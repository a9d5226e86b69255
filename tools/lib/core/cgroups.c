/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/cgroups.h>
#include <plumb/core/log.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

enum { MAX_DEPTH = 64 };

/* Where a cgroup is, or was. */
struct place {
	char *path;             /* from the root directory on; NULL: not known */
	size_t mount;           /* so much of it is where its file system is mounted */
	int watches[MAX_DEPTH]; /* of the directories above it, from there on */
};

static struct place places[PLUMB_MAX_LIST];
static int events = -1; /* inotify, of these directories */

static uint64_t id_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

static char *path_of(int fd)
{
	static const char mark[] = " (deleted)"; /* it was removed since it was opened */
	const ssize_t n_mark = sizeof(mark) - 1;
	char link[32], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return NULL;
	path[n] = 0;
	if (n > n_mark && !strcmp(path + n - n_mark, mark) && access(path, F_OK))
		path[n - n_mark] = 0;
	return strdup(path);
}

/* The length of the shortest directory of PATH that is on the file system of FD. */
static size_t mount_of(int fd, char *path)
{
	char *slash = path;
	struct stat own, st;
	bool found = fstat(fd, &own) != 0;

	while (!found && *slash) {
		slash = strchrnul(slash + 1, '/');
		const char end = *slash;

		*slash = 0;
		found = !stat(path, &st) && st.st_dev == own.st_dev;
		*slash = end;
	}
	return slash - path;
}

/*
 * Watches each directory above, from the mount on, which stays: they may be removed and made again
 * as well.  From the top down, so that what comes after it was sought is told of.  The kernel keeps
 * the watch of a cgroup that was removed.  False: one cannot be watched.
 */
static bool watch_above(struct place *p)
{
	bool watched = true;
	int *w = p->watches;

	for (char *slash = p->path + p->mount; *slash; slash = strchrnul(slash + 1, '/'), w++) {
		int is;

		if (w == p->watches + MAX_DEPTH)
			return false;
		*slash = 0;
		is = inotify_add_watch(events, p->path, IN_CREATE | IN_DELETE | IN_ONLYDIR);
		if (is < 0 && errno != ENOENT)
			watched = false;
		*slash = '/';
		if (*w > 0 && *w != is)
			inotify_rm_watch(events, *w);
		*w = is;
	}
	return watched;
}

void plumb_cgroups_watch(struct plumb_run *run)
{
	if (!run->options.n_cgroups)
		return;
	events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	for (uint32_t i = 0; i < run->options.n_cgroups; i++) {
		struct place *p = &places[i];

		p->path = path_of(run->cgroups[i]);
		if (p->path) {
			p->mount = mount_of(run->cgroups[i], p->path);
			run->watched[i].polled = !watch_above(p);
		}
		run->watched[i].exists = true;
	}
}

int plumb_cgroups_fd(void)
{
	return events;
}

/* Puts the cgroup that now has the path in the place of the one before. */
static void take_in(struct plumb_run *run, uint32_t i, int fd)
{
	const int map = bpf_object__find_map_fd_by_name(run->instance.bpf.object, "plumb_cgroups");

	if (bpf_map_update_elem(map, &i, &fd, BPF_ANY)) {
		if (errno != ENOENT) /* that is: it was removed again */
			plumb_warn("cgroup %s was made again, but cannot be traced: %s",
				   run->options.cgroups[i], strerror(errno));
		close(fd);
		return;
	}
	close(run->cgroups[i]);
	run->cgroups[i] = fd;
	run->watched[i].made_again++;
	plumb_info("cgroup %s was made again and is traced", run->options.cgroups[i]);
}

static void look_at(struct plumb_run *run, uint32_t i)
{
	int fd;

	if (!watch_above(&places[i]))
		run->watched[i].polled = true;
	fd = open(places[i].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	run->watched[i].exists = fd >= 0;
	if (fd >= 0 && id_of(fd) != id_of(run->cgroups[i]))
		take_in(run, i, fd);
	else if (fd >= 0)
		close(fd);
}

void plumb_cgroups_look(struct plumb_run *run)
{
	char unread[4096];

	while (read(events, unread, sizeof(unread)) > 0)
		;
	for (uint32_t i = 0; i < run->options.n_cgroups; i++)
		if (places[i].path)
			look_at(run, i);
}
