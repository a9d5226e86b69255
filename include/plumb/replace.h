/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * replace: writes a file all at once: who reads it meanwhile has the old one, and if it
 * cannot be written the old one stays.
 *
 * What is there and is no regular file, as a pipe or /dev/stdout, is written to as it is.
 * A link stays, and what it leads to is replaced.
 */
#ifndef PLUMB_REPLACE_H
#define PLUMB_REPLACE_H

#include <stdio.h>

struct plumb_replacement {
	FILE *out;
	char *path, *beside; /* beside: the new file until it has its name; NULL: there is none */
};

/* Opens R->out.  0 or -errno; -ENXIO: a pipe that nobody reads, or a socket. */
int plumb_replace_begin(struct plumb_replacement *r, const char *path);

/*
 * ERR, a negative errno, or what went wrong in writing, is returned; if there is none
 * the file has its name.
 */
int plumb_replace_end(struct plumb_replacement *r, int err);

#endif
