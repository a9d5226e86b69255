/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <plumb/base/confine.h>
#include <plumb/base/log.h>
#include <plumb/session/cgroups.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static char *paths[PLUMB_MAX_LIST]; /* from the root directory on; NULL: not known */
static int events = -1;             /* inotify, of their parents */

static uint64_t id_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

static char *path_of(int fd)
{
	char link[32], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return NULL;
	path[n] = 0;
	return strdup(path);
}

/* The parent may have been made again as well.  The root of the hierarchy is never removed. */
static void watch_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *parent = slash > path ? strndup(path, slash - path) : NULL;

	if (parent)
		inotify_add_watch(events, parent, IN_CREATE | IN_DELETE | IN_ONLYDIR);
	free(parent);
}

void plumb_cgroups_watch(struct plumb_session *s)
{
	if (!s->options.n_cgroups)
		return;
	events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	for (uint32_t i = 0; i < s->options.n_cgroups; i++) {
		paths[i] = path_of(s->cgroups[i]);
		s->watched[i].exists = true;
	}
	plumb_keep(0, PLUMB_CALLS_WRITE_MAPS, "cgroups that are made again");
}

int plumb_cgroups_fd(void)
{
	return events;
}

/* Puts the cgroup that now has the path in the place of the one before. */
static void take_in(struct plumb_session *s, uint32_t i, int fd)
{
	const int map = bpf_object__find_map_fd_by_name(s->instance.bpf.object, "plumb_cgroups");

	if (bpf_map_update_elem(map, &i, &fd, BPF_ANY)) {
		plumb_warn("cgroup %s was made again, but cannot be traced: %s",
			   s->options.cgroups[i], strerror(errno));
		close(fd);
		return;
	}
	close(s->cgroups[i]);
	s->cgroups[i] = fd;
	s->watched[i].made_again++;
	plumb_info("cgroup %s was made again and is traced", s->options.cgroups[i]);
}

static void look_at(struct plumb_session *s, uint32_t i)
{
	int fd;

	watch_parent(paths[i]);
	fd = open(paths[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->watched[i].exists = fd >= 0;
	if (fd >= 0 && id_of(fd) != id_of(s->cgroups[i]))
		take_in(s, i, fd);
	else if (fd >= 0)
		close(fd);
}

void plumb_cgroups_look(struct plumb_session *s)
{
	char unread[4096];

	while (read(events, unread, sizeof(unread)) > 0)
		;
	for (uint32_t i = 0; i < s->options.n_cgroups; i++)
		if (paths[i])
			look_at(s, i);
}
