/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dump: where --keep writes: stdout, or a file that takes the place of the one before. */
#ifndef DUMP_H
#define DUMP_H

#include <stdio.h>
#include <plumb/core/report.h>

/* Whether --out=PATH can be written, and keeps what that takes.  0, or -errno after a message. */
int dump_check(const char *path);
/*
 * Calls WRITE for the dump that ends with LAST.  0, or -errno after a message; -EPIPE without one:
 * the reader of stdout has gone.
 */
int dump_write(const struct plumb_options *o, const struct plumb_report *last,
	       int (*write)(const struct plumb_report *last, FILE *out));

#endif
