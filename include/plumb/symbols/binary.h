/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* binary: the file of a program or library, by its name. */
#pragma once

#include <stdbool.h>

/*
 * A NAME with a slash is a path and returned unchanged.  Without a slash it is a library, "libc" or
 * "libc.so.6", from the first directory that has one for this architecture: those of
 * /etc/ld.so.conf, then the dynamic linker's defaults; else a program in PATH.  LD_LIBRARY_PATH and
 * glibc-hwcaps, the variants for newer processors, are ignored.  Symbolic links are resolved.
 *
 * *path is malloc'd and owned by the caller.  Returns 0, or -errno after a message: no such file,
 * or several such libraries in one directory.
 */
int plumb_binary_find(const char *name, char **path);

/* Whether FILE, the last part of a path, is so named: "libc.so.6" by itself and by "libc". */
bool plumb_binary_is_named(const char *file, const char *name);
