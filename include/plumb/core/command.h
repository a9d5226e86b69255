/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* command: the program after "--". */
#pragma once

#include <stdbool.h>

struct plumb_run;

/* Forks a process and stops it before execve(), outside any call; 0, or -errno after a message. */
int plumb_command_start(struct plumb_run *run);
/* Lets it continue and call execve(). */
void plumb_command_release(struct plumb_run *run);
/* Returns whether it has exited; then s->child_status is set. */
bool plumb_command_has_ended(struct plumb_run *run);
/*
 * If it was released and still runs: sends SIGTERM and waits until it exits, since it gets SIGKILL
 * when the tool exits.  A signal from SIGNALS (of plumb_signals_open()) ends the wait.
 */
void plumb_command_end(struct plumb_run *run, int signals);
