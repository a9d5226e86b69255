/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * writer: a process of its own that replaces the files of a tool that is confined, and opens those
 * to whose end it writes.
 *
 * The tool may not open or rename anything.  It sends what a file is to hold to plumb-writer, which
 * was given the names before, knows no others, and ends with the tool.  atomic-file.h and
 * append-file.h use it by themselves for these names.
 */
#pragma once

#include <stdint.h>
#include <plumb/files/atomic-file.h>

/* PATH will be replaced or opened, which takes CAPABILITIES. */
void plumb_writer_add(const char *path, uint64_t capabilities);

/* Starts it if any was added: 0, or -errno after a message.  Before plumb_confine(). */
int plumb_writer_start(int (*confine)(void));

/* Waits until it has ended. */
void plumb_writer_stop(void);

/* Whether it knows this file. */
bool plumb_writer_has(const char *path);

/* What plumb_atomic_file_begin() and plumb_atomic_file_end() do of its files. */
int plumb_writer_begin(struct plumb_atomic_file *r, const char *path);
int plumb_writer_end(struct plumb_atomic_file *r, int err);

/* What plumb_append_file_open() does of its files. */
int plumb_writer_open(const char *path);

/* Removes the file, if it is the latest that was written: 0 or -errno. */
int plumb_writer_remove(const char *path);
