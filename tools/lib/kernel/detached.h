/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * detached: private mounts of the kernel's file systems, for systems that have not mounted them.
 *
 * The mount is not attached to a directory, so no other process sees it.  It is removed when its
 * descriptor is closed.
 */
#pragma once

/* Returns a descriptor of the root of a new mount of TYPE ("tracefs"), or -errno. */
int plumb_mount_detached(const char *type);
