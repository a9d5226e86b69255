/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* own etc: an /etc of this process, in which it is root, with /etc/plumb. */
#pragma once

#include "unit.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLICY "/etc/plumb/policy"

static inline bool write_all(const char *path, const char *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool done = fd >= 0 && write(fd, text, n) == (ssize_t)n;

	if (fd >= 0)
		close(fd);
	return done;
}

static inline bool map_to_root(const char *path, unsigned int id)
{
	char map[32];
	int n = snprintf(map, sizeof(map), "0 %u 1", id);

	return write_all(path, map, n);
}

static inline bool be_root(void)
{
	const uid_t uid = getuid();
	const gid_t gid = getgid();

	if (!uid)
		return !unshare(CLONE_NEWNS);
	return !unshare(CLONE_NEWNS | CLONE_NEWUSER) && map_to_root("/proc/self/uid_map", uid) &&
	       write_all("/proc/self/setgroups", "deny", 4) &&
	       map_to_root("/proc/self/gid_map", gid);
}

/* Ends the program if that is not possible. */
static inline void have_own_etc(void)
{
	if (!be_root() || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/etc", "tmpfs", 0, "mode=755") || mkdir("/etc/plumb", 0755)) {
		puts("1..0 # SKIP no mount namespace of its own");
		exit(0);
	}
}

static inline void have_policy(const char *text)
{
	unlink(POLICY);
	assert_true(write_all(POLICY, text, strlen(text)));
}
