/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* outputs: what takes the rows of each interval beside the report on stdout. */
#ifndef OUTPUTS_H
#define OUTPUTS_H

struct plumb_report;
struct plumb_session;

/* Before privileges are given up: opens files, allocates memory.  0, or -errno after a message. */
int plumb_outputs_open(const struct plumb_session *s);
/* Of an interval; the last one is final.  0, or -errno after a message. */
int plumb_outputs_take(const struct plumb_report *interval);
/* After the last interval, also if the run has failed.  0, or -errno after a message. */
int plumb_outputs_close(void);

#endif
