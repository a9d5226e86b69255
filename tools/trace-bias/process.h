/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process: start a program and hold it before exec until it is released.  It has its own process
 * group, an empty stdin, and its output is read by line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Output that is split into lines as it arrives.  Long lines are cut. */
struct lines {
	void (*each)(const char *line, void *context); /* not called for empty lines */
	void *context;
	size_t n;
	char text[4096];
};

void lines_feed(struct lines *l, const char *data, size_t size);
/* Pass on the rest, which no line end followed. */
void lines_end(struct lines *l);

struct process {
	pid_t pid;  /* 0: there is none */
	int output; /* -1: none, or end of file */
	int hold;
	struct lines lines;
	/* After process_reap(): */
	int status; /* in the form of waitpid() */
	struct rusage usage;
};

/* Start COMMAND, held; call EACH for each line of its output.  0, or -errno and no process. */
int process_start(struct process *p, char *const *command,
		  void (*each)(const char *line, void *context), void *context);

/* Let it run; 0, or the -errno with which exec failed. */
int process_release(struct process *p);

/* Return whether it has exited and is not reaped yet.  SIGCHLD tells when to ask. */
bool process_has_ended(const struct process *p);

/* Read its output, if there is any. */
void process_read(struct process *p);

/* Send a signal to its process group. */
void process_signal(const struct process *p, int signal);

/* Wait for its exit, kill the rest of its process group, and reap it. */
void process_reap(struct process *p);

/* "ended with status 1", "was killed by signal 11"; after process_reap(). */
const char *process_fate(const struct process *p, char *text, size_t size);
