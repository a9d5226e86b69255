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
#pragma once

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

/* FNV-1a; HASH is SPAN_HASH, or that of what precedes. */
#define SPAN_HASH 0xcbf29ce484222325

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

/* RFC 3339 in UTC with nanoseconds, as plumb/2 has it; in ns since 1970. */
bool scan_time(struct scan *s, uint64_t *ns);

/* Any value. */
bool scan_value(struct scan *s, struct span *text);
struct line;

/* A member of an object that becomes a part of struct TO. */
struct field {
	struct span name;
	enum { FUNCTION, STRING, TIME, NATURAL, NATURAL_OR_NULL, BOOL } kind;
	size_t at, null_at; /* in TO; NULL_AT: a bool, whether it is null */
	bool (*scan)(struct scan *s, void *to, struct line *l);
};

/*
 * An object: those of its members that are among N FIELDS, which may not be there twice; TWICE is
 * the error then.  Returns a bit for each that is there, and 1 << N if it has others.
 */
unsigned int scan_object(struct scan *s, const struct field *fields, size_t n, void *to,
			 struct line *l, const char *twice);
/* What a string stands for, malloc'd: without its escapes. */
char *scan_text(struct span string);
/* Nothing follows but blanks. */
bool scan_end(struct scan *s);
