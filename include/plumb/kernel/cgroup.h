/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cgroup: paths and ids of the version 2 hierarchy. */
#ifndef PLUMB_CGROUP_H
#define PLUMB_CGROUP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Opens the cgroup at PATH: a directory in a cgroup2 mount, or a path below that mount
 * ("/system.slice").  Returns a descriptor, owned by the caller, or -errno after a message.
 */
int plumb_cgroup_open(const char *path);

/*
 * The path of the cgroup with this id, relative to the mount ("/system.slice"), or "cgroup:ID" if
 * it has been removed, cgroup2 is not mounted, or the kernel does not permit the lookup.
 */
void plumb_cgroup_path(uint64_t id, char *text, size_t size);
/* The id of the cgroup that a thread is in; 0: not known. */
uint64_t plumb_cgroup_of(uint32_t pid, uint32_t tid);
/* Keeps what that takes (confine.h). */
void plumb_cgroup_keep(void);

#endif
