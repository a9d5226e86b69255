/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * detached: private mounts of the kernel's file systems, for systems that have not mounted them.
 *
 * The mount is attached to no directory and is removed with its descriptor: no other process sees
 * it, and nothing stays behind.
 */
#ifndef PLUMB_DETACHED_H
#define PLUMB_DETACHED_H

/* A descriptor of the root of a new mount of TYPE ("tracefs"), for openat(); or -errno. */
int plumb_mount_detached(const char *type);

#endif
