/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* binary: the file of a program or library, by its name. */
#ifndef PLUMB_BINARY_H
#define PLUMB_BINARY_H

/*
 * NAME with a slash is a path, returned as it is.  Without one it is a library,
 * "libc" or "libc.so.6", in the directories of /etc/ld.so.conf and then the
 * dynamic linker's own, the first that has one for this machine; else a program
 * in PATH.  LD_LIBRARY_PATH, and the variants for newer processors in
 * glibc-hwcaps, are not looked at.  Links are resolved.
 *
 * *path is malloc'd, the caller's.  Returns 0, or -errno after saying what is
 * wrong: there is no such file, or a directory has several such libraries.
 */
int plumb_binary_find(const char *name, char **path);

#endif
