/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * atomic file: writes a file atomically: a reader meanwhile has the old one, and if it
 * cannot be written the old one stays.  The new one has the old one's owner and mode.
 *
 * What is there and is no regular file, as a pipe or /dev/stdout, is written to as it is.
 * A link of the caller's or of root's stays, and what it leads to is replaced; any other
 * is refused, and so is what is another user's in a sticky directory that others write to.
 */
#ifndef PLUMB_ATOMIC_FILE_H
#define PLUMB_ATOMIC_FILE_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

struct plumb_atomic_file {
	FILE *out;
	int dir;         /* all names are relative to it: a path may lead elsewhere meanwhile */
	char *name;      /* what is to be replaced */
	char beside[32]; /* the new file until it has its name; "": there is none */
	struct stat was; /* what has the name; zeros: nothing */
	bool as_it_is;
	sigset_t signals;
};

/* Opens R->out.  0 or -errno; -ENXIO: a pipe that nobody reads, or a socket. */
int plumb_atomic_file_begin(struct plumb_atomic_file *r, const char *path);
/* The same in two steps, of which the second may come much later. */
int plumb_atomic_file_find(struct plumb_atomic_file *r, const char *path);
int plumb_atomic_file_open(struct plumb_atomic_file *r);

/*
 * ERR, a negative errno, or what went wrong in writing, is returned; if there is none
 * the file has its name.
 */
int plumb_atomic_file_end(struct plumb_atomic_file *r, int err);

/* What -errno of these means, in words. */
const char *plumb_atomic_file_error(int err);

#endif
