/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * detached: the kernel's own file systems, where they are not mounted.
 *
 * The mount has no place in any directory and ends with its descriptor: no other process sees it,
 * and nothing is left behind.
 */
#ifndef PLUMB_DETACHED_H
#define PLUMB_DETACHED_H

/* A descriptor of the root of a new mount of TYPE ("tracefs"), for openat(); or -errno. */
int plumb_mount_detached(const char *type);

#endif
