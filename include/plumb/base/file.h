/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * file: reads files that an option names, which may be anybody's: regular ones only, and
 * of a size that memory holds.  What is wrong is said of OPTION.
 */
#ifndef PLUMB_FILE_H
#define PLUMB_FILE_H

#include <stddef.h>

/* A descriptor of a file of at most MOST bytes, or -errno. */
int plumb_file_open(const char *option, const char *path, size_t most);
/* All of it, malloc'd, with a NUL behind; NULL: it was said why not. */
char *plumb_file_read(const char *option, const char *path, size_t most, size_t *size);

#endif
