/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* append file: a regular file of the caller or root, to whose end lines are written. */
#pragma once

/*
 * Opens the file that has the name PATH now, or creates it; if plumb_writer_has() it, by
 * plumb-writer.  Returns a descriptor or -errno.
 */
int plumb_append_file_open(const char *path);

/* A message for that -errno. */
const char *plumb_append_file_error(int err);
