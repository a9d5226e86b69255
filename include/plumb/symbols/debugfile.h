/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * debugfile: what belongs to an ELF file and is kept elsewhere: its debug file (by build id or
 * .gnu_debuglink) and the compressed symbols in .gnu_debugdata.  Paths that other users may have
 * chosen are opened with care.
 */
#pragma once

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Opens a regular file; its descriptor, or -errno.  Other files, such as FIFOs, are never opened.
 * PATH is resolved as by a process whose root is DIR, an O_PATH descriptor.  FOLLOW: PATH may be a
 * symbolic link.
 */
int plumb_open_in_root(int dir, const char *path, bool follow);
/*
 * The same, if that file has this inode: the path may name another file by now (-ESTALE).  On
 * overlayfs the inode may differ, even for the same file.
 */
int plumb_open_inode_in_root(int dir, const char *path, uint64_t inode);
/* The same, with PATH resolved as by this process. */
int plumb_open_here(const char *path);

/*
 * Opens the debug file of ELF, a file at PATH that belongs to OWNER, below ROOT or below the tool's
 * own root, or the one that debuginfod-find(1) has fetched for the tool's user; its descriptor, or
 * -errno; -ESTALE: there is one, but of another build or of another user than root, OWNER and the
 * tool's.
 */
int plumb_debug_open(Elf *elf, const char *path, int root, uid_t owner);

/*
 * Opens PATH, or (NULL) the debug file below /usr/lib/debug, of whoever it is, if it has the build
 * id; its descriptor, or -errno.
 */
int plumb_debug_open_build(const char *path, const void *id, size_t size);

/*
 * Opens the file with the build id, or its debug file, from where these are kept by build id: below
 * ROOT or the tool's own root, or where debuginfod-find(1) has put it; its descriptor, or -errno.
 */
int plumb_debug_find_build(int root, const void *id, size_t size);

/*
 * The decompressed ELF file in .gnu_debugdata; malloc'd, of *SIZE bytes.  NULL: there is none, or,
 * with *DAMAGED set, it cannot be read.
 */
char *plumb_debug_mini(Elf *elf, size_t *size, bool *damaged);
