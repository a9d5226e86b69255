/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* command: the program after "--". */
#ifndef PLUMB_COMMAND_H
#define PLUMB_COMMAND_H

#include <stdbool.h>

struct plumb_session;

/* Starts it, stopped before its first system call; 0, or -errno after saying why. */
int plumb_command_start(struct plumb_session *s);
/* Lets it go. */
void plumb_command_release(struct plumb_session *s);
/* Has it ended?  Then its status is known. */
bool plumb_command_has_ended(struct plumb_session *s);
/*
 * If it was let go and has not ended: ends it by SIGTERM and waits for its end, since SIGKILL
 * follows when the tool exits.  A signal (SIGNALS: what plumb_signals_open() returned) ends the
 * wait.
 */
void plumb_command_end(struct plumb_session *s, int signals);

#endif
