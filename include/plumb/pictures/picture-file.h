/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* picture file: opened before the trace, written at its end. */
#ifndef PLUMB_PICTURE_FILE_H
#define PLUMB_PICTURE_FILE_H

#include <stdbool.h>
#include <plumb/files/atomic-file.h>

struct plumb_picture_file {
	const char *option; /* "--flame", for messages */
	struct plumb_atomic_file place;
	struct plumb_picture_file *next; /* all of them, to be removed at exit */
	bool listed;
};

/* Checks, as far as possible, that PATH can be written, and opens it.  0, or -errno after a
 * message. */
int plumb_picture_check(struct plumb_picture_file *file, const char *path);
/* The file, opened now if it is not yet; and its end (atomic-file.h).  0, or -errno after a
 * message. */
int plumb_picture_open(struct plumb_picture_file *file, const char *path);
int plumb_picture_close(struct plumb_picture_file *file, const char *path);
/* TEXT, the FILE of an option; wrong usage if it stands for stdout, which is for reports. */
const char *plumb_picture_path(const char *option, const char *text);

#endif
