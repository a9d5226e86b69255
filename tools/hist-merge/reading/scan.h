/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * scan: a pull scanner for JSON, strict as RFC 8259, without a tree and without memory of its own.
 *
 * jansson needs 18 times as long for reports, and 30 times their size in memory: it judges only
 * what is rare in them, strings with escapes or beyond ASCII and numbers that are not natural.
 *
 * The text ends with a NUL, which is no part of it.  Nesting is limited to SCAN_DEPTH.  After the
 * first error all functions fail, and the scan stays where it was.
 *
 *	for (bool more = scan_begin(s, '{'); more; more = scan_more(s, '}')) {
 *		if (!scan_member(s, &name))
 *			break;
 *		... exactly one function that takes a value
 *	}
 *	if (s->error) ...
 */
#ifndef SCAN_H
#define SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SCAN_DEPTH 64

struct scan {
	const char *at;
	const char *error; /* NULL: none */
};

/* The text of a string between its quotes, with its escapes; or any value. */
struct span {
	const char *text;
	size_t n;
};

#define NAME(literal)                                                                              \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

static inline bool spans_are_equal(struct span a, struct span b)
{
	return a.n == b.n && !memcmp(a.text, b.text, a.n);
}

static inline bool span_is(struct span s, const char *text)
{
	return s.n == strlen(text) && !memcmp(s.text, text, s.n);
}

/* An order, which is not that of the alphabet. */
static inline int spans_in_order(struct span a, struct span b)
{
	return a.n != b.n ? (a.n < b.n ? -1 : 1) : memcmp(a.text, b.text, a.n);
}

/* FNV-1a. */
static inline uint64_t span_hash(struct span s, uint64_t hash)
{
	for (size_t i = 0; i < s.n; i++)
		hash = (hash ^ (unsigned char)s.text[i]) * 0x100000001b3;
	return hash;
}

/* Sets the error, unless there is one; returns false. */
bool scan_fail(struct scan *s, const char *error);

/* The beginning of an object or array; false: it is empty, or an error. */
bool scan_begin(struct scan *s, char open);
/* A comma: true; CLOSE, or an error: false. */
bool scan_more(struct scan *s, char close);
/* The name of a member, and the colon. */
bool scan_member(struct scan *s, struct span *name);

bool scan_string(struct scan *s, struct span *text);
/* Whether a null is next, which is passed over; false is no error. */
bool scan_null(struct scan *s);
bool scan_bool(struct scan *s, bool *value);
/* An integer from 0 to 2^63-1, without fraction and exponent. */
bool scan_natural(struct scan *s, uint64_t *value);

/* Any value. */
bool scan_value(struct scan *s, struct span *text);
/* What a string stands for, malloc'd: without its escapes. */
char *scan_text(struct span string);
/* Nothing follows but blanks. */
bool scan_end(struct scan *s);

#endif
