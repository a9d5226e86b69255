/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * owners: the users whose files are read for a process.  A process may map, and name by links in
 * its root directory, files of users who have nothing to do with it; only those of root, of its own
 * user, of the root of its user namespace (which a container's files belong to), and of the user
 * who runs the tool are read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct plumb_owners {
	uid_t uids[8];
	size_t n;
	unsigned int pid; /* of the process in its own PID namespace */
};

/* 0, or -ESRCH: the process has ended. */
int plumb_owners_of(pid_t pid, struct plumb_owners *owners);
bool plumb_owners_have(const struct plumb_owners *owners, uid_t uid);

/* Whether files of UID are read for process PID; if they are not, writes why to WHY. */
bool plumb_owner_is_known(pid_t pid, uid_t uid, char *why, size_t size);
/* "belongs to uid 1001, which is neither the user of process 77 nor root" */
char *plumb_owner_text(pid_t pid, uid_t uid, char *text, size_t size);
