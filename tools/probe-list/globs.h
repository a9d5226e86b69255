/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* globs: match patterns of the command line with the names of targets. */
#pragma once

#include "targets.h"

struct glob {
	const char *text;   /* the whole argument */
	const char *name;   /* without the kind's prefix, and without "vmlinux:" */
	unsigned int kinds; /* that it can match: bits 1 << enum kind */
	bool built_in;      /* only functions of the kernel itself */
	/*
	 * System calls match by the names of their events only, by their own names only, or by
	 * either.
	 */
	bool only_events, only_names;
};

/* Parse TEXT; a wrong form is a usage error: exit with status 2. */
void glob_read(struct glob *g, const char *text);

/* Mark the matching targets of the kernel as taken; return their number. */
size_t glob_take(const struct glob *g, struct targets *p);

/* Warn that it matches nothing, with suggestions. */
void glob_complain(const struct glob *g, const struct targets *p);
