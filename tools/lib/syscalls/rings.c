/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/inflight/inflight.h>
#include <plumb/syscalls/syscall-options.h>

#define MOST_NS (PLUMB_SECOND / 10)

struct count {
	uint32_t last; /* process */
	int64_t rings; /* -1: of none */
};

static void count_in(void *context, uint32_t pid, uint32_t tid)
{
	struct count *c = context;
	char path[32], name[32];
	struct dirent *entry;
	DIR *files;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	if (pid == c->last || !(files = opendir(path)))
		return;
	c->last = pid;
	c->rings += c->rings < 0;
	while ((entry = readdir(files))) {
		const ssize_t n = readlinkat(dirfd(files), entry->d_name, name, sizeof(name) - 1);

		name[n < 0 ? 0 : n] = 0;
		c->rings += !strcmp(name, "anon_inode:[io_uring]");
	}
	closedir(files);
}

int64_t plumb_rings_count(const struct plumb_run *run)
{
	static int64_t most = -1;
	static uint64_t next;
	struct count c = {.rings = -1};

	if (plumb_now() < next)
		return most;
	next = plumb_now() + PLUMB_SECOND;
	if (run->options.n_pids || run->options.n_tids || run->child)
		plumb_threads_each(run, plumb_now() + MOST_NS, count_in, &c);
	if (c.rings > most)
		most = c.rings;
	return most;
}
