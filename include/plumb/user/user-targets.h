/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* user-targets: the functions and USDT probes that a pattern means in an opened file. */
#pragma once

#include <sys/types.h>
#include <plumb/user/user-files.h>
#include <plumb/user/userfuncs.h>

/* u:FILE:FUNC or usdt:FILE:PROVIDER:NAME, as typed. */
struct plumb_user_pattern {
	char *file;
	char *name; /* FUNC (userfuncs.h), or PROVIDER:NAME */
	bool is_usdt;
};

/* Parses TEXT, in which plumb_target_flaw() finds none. */
void plumb_user_pattern_parse(const char *text, struct plumb_user_pattern *p);

/* The same of a word of the command line, with PREFIX ("u:", "usdt:") or without; exits if it is
 * malformed. */
void plumb_user_pattern_take(const char *text, const char *prefix, struct plumb_user_pattern *p);

/* What the tool does with the functions found. */
enum plumb_user_purpose {
	PLUMB_USER_ENTRIES, /* probes entries, also where the functions were inlined */
	PLUMB_USER_CALLS,   /* probes entries and returns */
	PLUMB_USER_RETURNS, /* the same, and needs the return instructions */
};

/*
 * Finds what the pattern means in the file.  PID: for the name of an ifunc, the function that this
 * process calls; 0: no process.  Inlined calls that are probed, or are not, are said.  Returns 0,
 * or -errno after a message.
 */
int plumb_user_target_find(const struct plumb_user_file *f, const struct plumb_user_pattern *p,
			   pid_t pid, enum plumb_user_purpose purpose,
			   struct plumb_userfuncs *found);

/* The same in another build of the file, by its descriptor, without messages about inlining. */
int plumb_user_target_find_in(int fd, const char *shown, const struct plumb_user_pattern *p,
			      enum plumb_user_purpose purpose, struct plumb_userfuncs *found);
