/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trace: from the moment when all is attached to the last report. */
#ifndef TRACE_H
#define TRACE_H

struct plumb_session;

/* SIGNALS is a signalfd of those that end the run, and of SIGCHLD.  Returns the exit status. */
int plumb_trace(struct plumb_session *s, int signals);

#endif
