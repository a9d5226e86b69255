/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * builds: told by the kernel (inotify) that a file is written to, or another one comes to its path.
 * File systems that do not tell, and symbolic links, are looked at four times a second all the
 * same.
 */
#include "builds-code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/symbols/elffile.h>

/* ns: how long a file may lack a part of it, since it was last written to. */
#define WRITTEN_FOR (2 * PLUMB_SECOND)

static int events = -1;

int plumb_builds_fd(void)
{
	return events;
}

void plumb_builds_watch(int fd, const char *path)
{
	char text[32], *folder = path ? strdup(path) : NULL, *slash = NULL;

	if (events < 0)
		events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (folder && (slash = strrchr(folder, '/')))
		slash[slash == folder] = 0;
	snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);
	if (fd >= 0)
		inotify_add_watch(events, text, IN_MODIFY);
	else if (slash)
		inotify_add_watch(events, folder, IN_MOVED_TO | IN_CREATE | IN_CLOSE_WRITE);
	free(folder);
}

static bool is_named(const char *name)
{
	const struct plumb_build *b;
	const char *slash;

	for (size_t i = 0; (b = plumb_build_at(i)); i++) {
		slash = strrchr(plumb_build_path(b), '/');
		if (slash && !strcmp(slash + 1, name))
			return true;
	}
	return false;
}

bool plumb_builds_take_events(void)
{
	char some[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *e;
	bool is_ours = false;
	ssize_t size;

	while (events >= 0 && (size = read(events, some, sizeof(some))) > 0)
		for (char *at = some; at < some + size; at += sizeof(*e) + e->len) {
			e = (const void *)at;
			is_ours |= !e->len || is_named(e->name);
		}
	return is_ours;
}

bool plumb_build_is_of(const struct plumb_build *b, const struct stat *st)
{
	return b->device == st->st_dev && b->inode == st->st_ino;
}

bool plumb_build_is_unfinished(int fd, const struct stat *st)
{
	const uint64_t at = st->st_mtim.tv_sec * PLUMB_SECOND + st->st_mtim.tv_nsec;

	return plumb_wall_now() - at < WRITTEN_FOR && !plumb_elf_is_whole(fd);
}

bool plumb_build_has_grown(const struct plumb_build *b, const struct stat *st)
{
	return b->fd >= 0 && !b->functions.n &&
	       (b->size != st->st_size || b->changed.tv_sec != st->st_mtim.tv_sec ||
		b->changed.tv_nsec != st->st_mtim.tv_nsec);
}

void plumb_build_look_again(struct plumb_build *b, int fd, const struct stat *st)
{
	close(fd);
	b->changed = st->st_mtim;
	b->size = st->st_size;
	plumb_build_read_id(b);
}

struct timespec plumb_build_changed_at(const struct plumb_build *b, uint64_t looked)
{
	const uint64_t now = plumb_wall_now(), before = now - (plumb_now() - looked);
	uint64_t at = 0;
	struct stat st;

	if (!fstat(b->fd, &st))
		at = st.st_mtim.tv_sec * PLUMB_SECOND + st.st_mtim.tv_nsec;
	if (at < before || at > now)
		at = before;
	return (struct timespec){at / PLUMB_SECOND, at % PLUMB_SECOND};
}

void plumb_build_tell_change(const struct plumb_build *b, const struct timespec *since)
{
	char from[32], to[32];

	plumb_warn("%s was changed in place: it is no longer traced. Processes that began from %s "
		   "to %s may have computed wrongly: the probes stood in changed code",
		   plumb_build_path(b), plumb_clock_text(since, from),
		   plumb_clock_text(&b->until, to));
}

char *plumb_clock_text(const struct timespec *t, char text[32])
{
	struct tm tm;

	localtime_r(&t->tv_sec, &tm);
	snprintf(text, 32, "%02d:%02d:%02d.%03ld", tm.tm_hour, tm.tm_min, tm.tm_sec,
		 t->tv_nsec / 1000000);
	return text;
}
