/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * atomic file: replaces a file atomically.  Until the new file is complete, and if writing
 * fails, readers see the old one.  The new file has the old file's owner and mode.
 *
 * A path that exists and is not a regular file, such as a pipe or /dev/stdout, is written to
 * directly.  A symbolic link of the caller or root is kept, and its target replaced, or created if
 * the link is the caller's; others are refused, and so are files of another user in a sticky
 * directory that others can write.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

struct plumb_atomic_file {
	FILE *out;
	int dir;    /* descriptor; names are relative to it, since a path may change meanwhile */
	char *name; /* of the file to be replaced */
	char beside[32];  /* name of the new file until it is renamed; "": there is none */
	struct stat was;  /* of the old file; all zero: there is none */
	bool unnamed;     /* the new file has no name yet */
	bool as_it_is;    /* not a regular file: written to directly */
	sigset_t signals; /* the mask to restore at the end */
	uint32_t writer;  /* plumb-writer does it: its number of the file and 1; 0: it does not */
	unsigned int most;
};

/* Opens R->out.  0 or -errno; -ENXIO: a pipe without a reader, or a socket. */
int plumb_atomic_file_begin(struct plumb_atomic_file *r, const char *path);
/* The same in two steps; the second may follow much later. */
int plumb_atomic_file_find(struct plumb_atomic_file *r, const char *path);
int plumb_atomic_file_open(struct plumb_atomic_file *r);

/*
 * Before plumb_atomic_file_end(), once all is written: keeps the old file as NAME.1, and NAME.1 as
 * NAME.2; of all with the new one MOST are kept.  0 or -errno.
 */
int plumb_atomic_file_rotate(struct plumb_atomic_file *r, unsigned int most);

/* The capabilities that replacing the file takes: it or its directory may be another user's. */
uint64_t plumb_atomic_file_takes(const struct plumb_atomic_file *r);

/*
 * Renames the new file if ERR is 0 and all was written, otherwise removes it.  Returns ERR, a
 * negative errno, or that of the first failure.
 */
int plumb_atomic_file_end(struct plumb_atomic_file *r, int err);

/* A message for the -errno that these functions return. */
const char *plumb_atomic_file_error(int err);
