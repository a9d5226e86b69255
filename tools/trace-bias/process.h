/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process: a program that is started, and held before its first instruction until it
 * is released.  It has a process group of its own, nothing on its stdin, and its
 * output is read by the line.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include "lines.h"
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct process {
	pid_t pid;  /* 0: there is none */
	int output; /* -1: none, or at its end */
	int hold;
	struct lines lines;
	/* When it is gone: */
	int status; /* as waitpid has it */
	struct rusage usage;
};

/* Its output goes to EACH, a line at a time.  0 or -errno, and then there is none. */
int process_start(struct process *p, char *const *command,
		  void (*each)(const char *line, void *context), void *context);

/* 0, or the -errno with which it could not be run. */
int process_release(struct process *p);

/* Ended, but not yet gone; SIGCHLD tells when to ask. */
bool process_has_ended(const struct process *p);

/* Reads what it has printed, where there is something. */
void process_read(struct process *p);

/* To all of its group. */
void process_signal(const struct process *p, int signal);

/* Waits for its end and kills what is left of its group; then it is gone. */
void process_reap(struct process *p);

/* "ended with status 1", "was killed by signal 11"; of a process that is gone. */
const char *process_fate(const struct process *p, char *text, size_t size);

#endif
