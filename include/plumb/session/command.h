/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* command: the program after "--". */
#ifndef PLUMB_COMMAND_H
#define PLUMB_COMMAND_H

struct plumb_session;

/* Starts it, stopped before its first system call; 0, or -errno after saying why. */
int plumb_command_start(struct plumb_session *s);
/* Lets it go. */
void plumb_command_release(struct plumb_session *s);

#endif
