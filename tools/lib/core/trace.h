/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trace: the run, from the attached programs to the last report. */
#pragma once

struct plumb_run;

/* SIGNALS is a signalfd of SIGCHLD and the signals that end the run.  Returns the exit status. */
int plumb_trace(struct plumb_run *run, int signals);
