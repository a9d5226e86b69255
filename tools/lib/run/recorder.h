/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recorder: --keep.  Keeps the last intervals, or records, and writes them when they are asked for.
 *
 * A dump is what is kept as JSON lines, and then the interval in progress, whose member "dump"
 * tells why it was written.  Triggers are evaluated when an interval ends.
 */
#ifndef RECORDER_H
#define RECORDER_H

#include <stdbool.h>

struct plumb_options;
struct plumb_report;
struct plumb_session;
struct plumb_tool;

/* After the options are parsed: what is wrong with them ends the process with status 2. */
void plumb_recorder_check(const struct plumb_options *o, const struct plumb_tool *tool);
/* Says how much memory it will take.  0, or -E2BIG after a message. */
int plumb_recorder_check_memory(const struct plumb_options *o, const struct plumb_tool *tool);

/* Those of outputs.h, without --keep nothing.  The last interval is dumped. */
int plumb_recorder_open(const struct plumb_session *s);
int plumb_recorder_take(const struct plumb_report *interval);
int plumb_recorder_close(void);

/* Whether a trigger's dump is due. */
bool plumb_recorder_is_due(void);
/* SIGUSR1: the next dump is for this reason. */
void plumb_recorder_ask(void);
/* Dumps, at last the interval in PROGRESS.  0, or -EPIPE: the reader of stdout has gone. */
int plumb_recorder_dump(const struct plumb_report *progress);

#endif
