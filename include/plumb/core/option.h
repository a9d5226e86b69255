/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * option: an option of the command line: its text in --help, the bounds of its value, and where the
 * value goes.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct plumb_options;

/* Of a table that ends with {0}.  Without a name it is a heading of --help, DOC. */
struct plumb_option {
	const char *name;
	int letter;        /* 0: it has none */
	const char *value; /* what --help calls it; NULL: it takes none */
	const char *doc;
	int group;     /* of --help: lower ones come first */
	bool optional; /* the value may be left out: it goes nowhere, then, but to PARSE as NULL */
	bool once;     /* TEXT may be set once, as of two files one would not be written */

	/*
	 * Where it goes: any of these.  A value that cannot be parsed, or is not from MIN to MAX,
	 * is wrong usage.
	 */
	bool *given;    /* set to true */
	size_t shared;  /* the same, a member of struct plumb_options, by its offset; 0: none */
	__u64 *number;  /* from MIN to MAX */
	__u64 *size;    /* "64K", in bytes; MAX 0: no limit */
	__u64 *time;    /* "1.5ms", in ns */
	__u64 *seconds; /* "0.5", in ns; above 0, at most a year */
	const char **text;
	/*
	 * Functions that are called with OPTION ("--min", for messages) and its value, or each item
	 * of its list.  O is NULL in a program that does not trace by the core's loop.
	 */
	void (*parse)(const char *option, const char *text, struct plumb_options *o);
	void (*item)(const char *option, const char *item, struct plumb_options *o);
	void (*act)(void); /* it takes no value */
	/* It is a letter of other tools, which users try here: the message that says what it is. */
	const char *instead;
	__u64 min, max;
};

/* Whether OPTIONS, which may be NULL, have one of that NAME. */
bool plumb_option_is_among(const struct plumb_option *options, const char *name);
