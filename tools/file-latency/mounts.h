/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mounts: where file systems are mounted, in the mount namespace of the tool. */
#ifndef FILE_MOUNTS_H
#define FILE_MOUNTS_H

#include <stddef.h>
#include <stdint.h>

/* The mount point of the file system on DEV (major << 20 | minor), or "MAJOR:MINOR". */
void mounts_name(uint32_t dev, char *text, size_t size);

/*
 * The path of the file that has PATH in that file system. If that part of it is not mounted here,
 * "MAJOR:MINOR:PATH".
 */
void mounts_path(uint32_t dev, const char *path, char *text, size_t size);

#endif
