/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * file: reads files that an option names and that are not trusted: regular files only, up
 * to a maximum size, and with the permissions of the real user.  Error messages name OPTION.
 */
#pragma once

#include <stddef.h>

/* Returns the descriptor of a file of at most MOST bytes, or -errno after a message. */
int plumb_file_open(const char *option, const char *path, size_t most);
/* Returns the contents, malloc'd, followed by a NUL; NULL after a message. */
char *plumb_file_read(const char *option, const char *path, size_t most, size_t *size);
