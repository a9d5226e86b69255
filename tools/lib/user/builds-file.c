/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * builds: the file of a build: what distinguishes its content, and that the kernel (inotify) tells
 * when it is written to, or another one comes to its path.  File systems that do not tell, and
 * symbolic links, are looked at four times a second all the same.
 */
#include "builds-file.h"

#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/privileges.h>
#include <plumb/functions/probe.h>
#include <plumb/symbols/elffile.h>

/* --- its content --- */

enum { INSTRUCTION = 15 }; /* bytes of the longest */

/* FNV-1a, 64 bits (Fowler, Noll, Vo), of the bytes at OFFSET. */
static void add_code(int fd, uint64_t offset, uint64_t *sum)
{
	unsigned char code[INSTRUCTION] = {};

	if (pread(fd, code, sizeof(code), offset) < 1)
		*sum ^= ~offset;
	for (size_t i = 0; i < sizeof(code); i++)
		*sum = (*sum ^ code[i]) * 0x100000001b3ULL;
}

uint64_t plumb_build_code(const struct plumb_build *b)
{
	uint64_t sum = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < b->functions.n; i++) {
		const struct plumb_userfunc *u = &b->functions.list[i];

		add_code(b->fd, u->offset, &sum);
		for (size_t j = 0; j < u->n_returns; j++)
			add_code(b->fd, u->returns[j], &sum);
		for (size_t j = 0; j < u->n_places; j++)
			add_code(b->fd, u->places[j].offset, &sum);
	}
	return sum;
}

void plumb_build_read_id(struct plumb_build *b)
{
	const unsigned char *bytes;
	const void *id = NULL;
	struct plumb_elf elf;
	ssize_t n = 0;

	if (!plumb_elf_open(b->functions.path, &elf))
		n = dwelf_elf_gnu_build_id(elf.elf, &id);
	bytes = id;
	for (ssize_t i = 0; i < n && 2 * i + 2 < PLUMB_BUILD_ID; i++)
		snprintf(b->id + 2 * i, 3, "%02x", bytes[i]);
	plumb_elf_close(&elf);
}

bool plumb_build_is_changed(struct plumb_build *b)
{
	struct stat st;

	if (fstat(b->fd, &st) || st.st_size != b->size)
		return true;
	if (st.st_mtim.tv_sec == b->changed.tv_sec && st.st_mtim.tv_nsec == b->changed.tv_nsec)
		return false;
	b->changed = st.st_mtim;
	return plumb_build_code(b) != b->code; /* touch changes the time only */
}

struct plumb_userfunc *plumb_build_function(const struct plumb_userfuncs *found, const char *name)
{
	for (size_t i = 0; i < found->n; i++)
		if (!strcmp(found->list[i].name, name) && !found->list[i].obstacle)
			return &found->list[i];
	return NULL;
}

/* --- changes --- */

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
	const char *slash;

	for (size_t i = 0; i < plumb_traced.n; i++) {
		slash = strrchr(plumb_build_path(&plumb_traced.list[i]), '/');
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

/*
 * Attaching to many by one link (6.6) takes no capability, a perf event CAP_PERFMON, and from 6.16
 * on CAP_SYS_ADMIN.  Without cookies (5.15) each event has its own copy of the program.
 */
void plumb_builds_retain(void)
{
	uint64_t capabilities = plumb_caps_for_processes();
	unsigned int calls = PLUMB_CALLS_ATTACH;
	const struct plumb_probes *probes = plumb_traced.probes;

	if (!plumb_traced.n || !probes)
		return;
	for (size_t i = 0; i < plumb_traced.n; i++)
		if (plumb_traced.list[i].functions.is_usdt)
			calls |= PLUMB_CALLS_WRITE_MAPS; /* where the arguments are */
	if (probes->by_events) {
		capabilities |= PLUMB_CAP(PERFMON) | PLUMB_CAP(SYS_ADMIN);
		calls |= PLUMB_CALLS_EVENTS;
	}
	if (probes->by_events && !probes->with_cookies) {
		capabilities |= PLUMB_CAP(BPF);
		calls |= PLUMB_CALLS_LOAD;
	}
	plumb_retain(capabilities, calls, "files that are replaced");
}
