/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recorder: --keep.  Keeps the last intervals, or records, and writes them when they are asked for.
 *
 * A dump is what is kept as JSON lines, and then the interval in progress, whose member "dump"
 * tells why it was written.  Triggers are evaluated when an interval ends.
 */
#ifndef RECORDER_H
#define RECORDER_H

#include <plumb/core/part.h>

/* Members of the part. */
extern const struct plumb_option recorder_options[];
void recorder_complete(struct plumb_options *o, const struct plumb_tool *tool);

#endif
