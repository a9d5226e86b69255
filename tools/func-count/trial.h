/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trial: a tracepoint and a user function that the tool itself can provoke, to measure a probe. */
#ifndef TRIAL_H
#define TRIAL_H

#include <plumb/tracepoints.h>
#include <plumb/userfuncs.h>

/* task:task_rename; 0 or -errno. */
int trial_find_tracepoint(struct plumb_tracepoints *found);
void trial_rename(void);

/* A function of this program, found in its file; 0 or -errno. */
int trial_find_userfunc(struct plumb_userfuncs *found);
void trial_call(void);

#endif
