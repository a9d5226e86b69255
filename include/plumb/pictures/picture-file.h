/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* picture file: opened before the trace, written at its end. */
#ifndef PLUMB_PICTURE_FILE_H
#define PLUMB_PICTURE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <plumb/files/atomic-file.h>

struct plumb_picture_file {
	const char *option; /* "--flame", for messages */
	const char *path;   /* as the option has it; NULL: it was not given */
	struct plumb_atomic_file place;
	struct plumb_picture_file *next; /* all of them, to be removed at exit */
	bool listed;
};

/*
 * Both do nothing if the option was not given, and return 0, or -errno after a message.
 *
 * Wrong usage if the path stands for stdout, which is for reports.  Unless ONLY_WORDS are to be
 * checked, checks as far as possible that the file can be written, and opens it.
 */
int plumb_picture_check(struct plumb_picture_file *file, bool only_words);
/* Replaces the file by what DRAW prints (atomic-file.h), which returns 0 or -errno. */
int plumb_picture_save(struct plumb_picture_file *file, int (*draw)(void *context, FILE *out),
		       void *context);

#endif
