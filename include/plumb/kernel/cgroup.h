/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cgroup: paths and ids of the version 2 hierarchy. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Opens the cgroup at PATH: a directory in a cgroup2 mount, or a path below that mount
 * ("/system.slice").  Returns a descriptor, owned by the caller, or -errno after a message.
 */
int plumb_cgroup_open(const char *path);

/*
 * The path of the cgroup with this id, relative to the mount ("/system.slice"), or "cgroup:ID" if
 * it was removed before its path was known, cgroup2 is not mounted, or the kernel does not permit
 * the lookup.  A path that was found once is kept.
 */
void plumb_cgroup_path(uint64_t id, char *text, size_t size);
/* The same as its directories are called; NULL: not known. */
const char *plumb_cgroup_raw_path(uint64_t id);
/* Where cgroup2 is mounted, also beside version 1; "": nowhere; NULL: see errno. */
const char *plumb_cgroup_mount(void);
/* The id of the cgroup that a thread is in; 0: not known. */
uint64_t plumb_cgroup_of(uint32_t pid, uint32_t tid);
/* The map of paths of cgroups that were removed (cgroups.bpf.h); negative: none. */
void plumb_cgroup_use_gone(int map);
/*
 * The first cgroup that was asked for and had the same path, a cgroup that was made again having
 * another id.  The answer for an id never changes.
 */
uint64_t plumb_cgroup_first(uint64_t id);
/*
 * Set by a part: cgroups with the same text, which it keeps, count as those of one path do; the
 * text NULL: there is none.
 */
extern const char *(*plumb_cgroup_group)(uint64_t id);
/* Keeps what that takes (confine.h). */
void plumb_cgroup_retain(void);
