/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* globs: what was asked for, against the names of targets. */
#ifndef GLOBS_H
#define GLOBS_H

#include "targets.h"

struct glob {
	const char *text;   /* all of it */
	const char *name;   /* without the kind's prefix, and without "vmlinux:" */
	unsigned int kinds; /* that it is about: bits 1 << enum kind */
	bool built_in;      /* only functions of the kernel itself */
	/* Calls are meant by the names of their events, or by their own; or by either. */
	bool only_events, only_names;
};

/* Reads TEXT; what is no form of a target ends the process with status 2. */
void glob_read(struct glob *g, const char *text);

/* Takes the kernel's targets that it matches; how many. */
size_t glob_take(const struct glob *g, struct targets *p);

/* Says that it matches nothing, with suggestions. */
void glob_complain(const struct glob *g, const struct targets *p);

#endif
