/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * scan: a pull scanner for JSON, strict as RFC 8259, without a tree and without memory of its own.
 *
 * The text ends with a NUL, which is no part of it, and SCAN_PADDING bytes that may be read.
 *Nesting is limited to SCAN_DEPTH.  After the first error all functions fail, and the scan stays
 *where it was.
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

#define SCAN_DEPTH   64
#define SCAN_PADDING 8

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

/* Sets the error, unless there is one; returns false. */
bool scan_fail(struct scan *s, const char *error);

/* The beginning of an object or array; false: it is empty, or an error. */
bool scan_begin(struct scan *s, char open);
/* A comma: true; CLOSE, or an error: false. */
bool scan_more(struct scan *s, char close);
/* The name of a member, and the colon. */
bool scan_member(struct scan *s, struct span *name);

bool scan_string(struct scan *s, struct span *text);
bool scan_bool(struct scan *s, bool *value);
bool scan_bool_or_null(struct scan *s, bool *value, bool *is_null);
/* An integer from 0 to 2^63-1, without fraction and exponent. */
bool scan_natural(struct scan *s, uint64_t *value);

/*
 * The same for 1 to 7 digits without a leading 0, at S->at and followed by END, which is passed
 * over; false otherwise, which is no error.  Eight characters at a time, without a branch per
 * digit: nearly all of a report are numbers of buckets.
 */
static inline bool scan_short(struct scan *s, char end, uint64_t *value)
{
	uint64_t w, others;
	int n;

	memcpy(&w, s->at, sizeof(w)); /* little endian: the first digit is the lowest byte */
	w ^= 0x3030303030303030;
	others = ((w + 0x7676767676767676) | w) & 0x8080808080808080; /* no digits: above 9 */
	n = others ? __builtin_ctzll(others) / 8 : 0;
	if (!n || s->at[n] != end || (*s->at == '0' && n > 1))
		return false;
	s->at += n + 1;
	w <<= 64 - 8 * n; /* as if zeros preceded */
	w = w * 10 + (w >> 8);
	*value = ((w & 0xff000000ff) * 0xf424000000064 +
		  ((w >> 16) & 0xff000000ff) * 0x271000000001) >>
		 32;
	return true;
}
/* Such an integer, or null, of which the value is 0. */
bool scan_natural_or_null(struct scan *s, uint64_t *value, bool *is_null);
/* Any value. */
bool scan_value(struct scan *s, struct span *text);
/* What a string stands for, malloc'd: without its escapes. */
char *scan_text(struct span string);
/* Nothing follows but blanks. */
bool scan_end(struct scan *s);

#endif
