/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "reading/scan.h"
#include <jansson.h>
#include <stdlib.h>

#define LARGEST ((uint64_t)INT64_MAX)

bool scan_fail(struct scan *s, const char *error)
{
	if (!s->error)
		s->error = error;
	return false;
}

static inline char next(struct scan *s)
{
	while (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r')
		s->at++;
	return *s->at;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool wrong_end(struct scan *s)
{
	return scan_fail(s, *s->at ? "unexpected character" : "the text ends inside a value");
}

bool scan_begin(struct scan *s, char open)
{
	if (s->error)
		return false;
	if (next(s) != open)
		return scan_fail(s, open == '{' ? "an object is expected" : "an array is expected");
	s->at++;
	/* '}' is '{' + 2, and ']' is '[' + 2. */
	if (next(s) != open + 2)
		return true;
	s->at++;
	return false;
}

bool scan_more(struct scan *s, char close)
{
	char c;

	if (s->error)
		return false;
	c = next(s);
	if (c != ',' && c != close)
		return wrong_end(s);
	s->at++;
	return c == ',';
}

bool scan_member(struct scan *s, struct span *name)
{
	if (!scan_string(s, name))
		return false;
	if (next(s) != ':')
		return wrong_end(s);
	s->at++;
	return true;
}

static int hex4(const char *text)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		char c = text[i];

		if (is_digit(c))
			value = value * 16 + c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			value = value * 16 + (c | 0x20) - 'a' + 10;
		else
			return -1;
	}
	return value;
}

/* The length of the escape at TEXT; 0: it is none. */
static size_t escape(const char *text)
{
	int code;

	if (text[1] && strchr("\"\\/bfnrt", text[1]))
		return 2;
	if (text[1] != 'u')
		return 0;
	code = hex4(text + 2);
	if (code < 0 || (code & 0xfc00) == 0xdc00)
		return 0;
	if ((code & 0xfc00) != 0xd800)
		return 6;
	/* Half of a pair that stands for one character. */
	return text[6] == '\\' && text[7] == 'u' && hex4(text + 8) >= 0 &&
			       (hex4(text + 8) & 0xfc00) == 0xdc00
		       ? 12
		       : 0;
}

/* The length of the UTF-8 of a character beyond ASCII; 0: it is none. */
static size_t utf8(const unsigned char *text)
{
	unsigned int c = *text, n = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	for (unsigned int i = 1; i < n; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* Longer than necessary, a surrogate, or above U+10FFFF. */
	if ((c == 0xe0 && text[1] < 0xa0) || (c == 0xed && text[1] > 0x9f) ||
	    (c == 0xf0 && text[1] < 0x90) || (c == 0xf4 && text[1] > 0x8f))
		return 0;
	return n;
}

bool scan_string(struct scan *s, struct span *text)
{
	const char *at;
	size_t n;

	if (s->error)
		return false;
	if (next(s) != '"')
		return *s->at ? scan_fail(s, "a string is expected") : wrong_end(s);
	text->text = at = ++s->at;
	for (;; at += n) {
		while ((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' &&
		       *at != '\\')
			at++;
		s->at = at;
		if (*at == '"')
			break;
		if ((unsigned char)*at < 0x20)
			return scan_fail(s, *at ? "a control character in a string"
						: "the text ends inside a value");
		n = *at == '\\' ? escape(at) : utf8((const unsigned char *)at);
		if (!n)
			return scan_fail(s, *at == '\\' ? "no such escape" : "not UTF-8");
	}
	text->n = at - text->text;
	s->at++;
	return true;
}

static bool scan_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(s->at, word, n))
		return false;
	s->at += n;
	return true;
}

bool scan_bool(struct scan *s, bool *value)
{
	if (s->error)
		return false;
	next(s);
	*value = scan_word(s, "true");
	return *value || scan_word(s, "false") || scan_fail(s, "true or false is expected");
}

bool scan_natural(struct scan *s, uint64_t *value)
{
	const char *at;
	uint64_t n = 0;

	if (s->error)
		return false;
	if (!is_digit(next(s)))
		return scan_fail(s, *s->at == '-' ? "a negative number" : "a number is expected");
	at = s->at;
	for (; is_digit(*at); at++) {
		/* 19 digits are below 2^64. */
		if (at - s->at == 19)
			return scan_fail(s, "a number above 2^63-1");
		n = n * 10 + (*at - '0');
	}
	if (n > LARGEST)
		return scan_fail(s, "a number above 2^63-1");
	if (*s->at == '0' && at - s->at > 1)
		return scan_fail(s, "a number with a leading 0");
	if (*at == '.' || *at == 'e' || *at == 'E')
		return scan_fail(s, "a whole number is expected");
	s->at = at;
	*value = n;
	return true;
}

bool scan_bool_or_null(struct scan *s, bool *value, bool *is_null)
{
	if (s->error)
		return false;
	next(s);
	*is_null = scan_word(s, "null");
	*value = false;
	return *is_null || scan_bool(s, value);
}

bool scan_natural_or_null(struct scan *s, uint64_t *value, bool *is_null)
{
	if (s->error)
		return false;
	next(s);
	*is_null = scan_word(s, "null");
	*value = 0;
	return *is_null || scan_natural(s, value);
}

/* Any number. */
static bool skip_number(struct scan *s)
{
	const char *at = s->at + (*s->at == '-'), *from = at;

	while (is_digit(*at))
		at++;
	if (at == from || (*from == '0' && at - from > 1))
		return scan_fail(s, "malformed number");
	if (*at == '.') {
		if (!is_digit(*++at))
			return scan_fail(s, "malformed number");
		while (is_digit(*at))
			at++;
	}
	if (*at == 'e' || *at == 'E') {
		at++;
		at += *at == '+' || *at == '-';
		if (!is_digit(*at))
			return scan_fail(s, "malformed number");
		while (is_digit(*at))
			at++;
	}
	s->at = at;
	return true;
}

static bool skip_scalar(struct scan *s)
{
	struct span ignored;
	char c = next(s);

	if (c == '"')
		return scan_string(s, &ignored);
	if (c == '-' || is_digit(c))
		return skip_number(s);
	return scan_word(s, "true") || scan_word(s, "false") || scan_word(s, "null") ||
	       wrong_end(s);
}

/* Not recursive: the open brackets are on a stack. */
static bool skip(struct scan *s)
{
	char open[SCAN_DEPTH];
	struct span ignored;
	size_t depth = 0;
	bool more;

	do {
		if (next(s) == '{' || *s->at == '[') {
			if (depth == SCAN_DEPTH)
				return scan_fail(s, "nested too deep");
			open[depth++] = *s->at;
			more = scan_begin(s, *s->at);
		} else {
			if (!skip_scalar(s))
				return false;
			more = depth && scan_more(s, open[depth - 1] + 2);
		}
		while (!more && depth && !s->error && --depth)
			more = scan_more(s, open[depth - 1] + 2);
		if (more && open[depth - 1] == '{' && !scan_member(s, &ignored))
			return false;
	} while (more);
	return !s->error;
}

bool scan_value(struct scan *s, struct span *text)
{
	if (s->error)
		return false;
	next(s);
	text->text = s->at;
	if (!skip(s))
		return false;
	text->n = s->at - text->text;
	return true;
}

bool scan_end(struct scan *s)
{
	if (s->error)
		return false;
	return !next(s) || scan_fail(s, "something follows the value");
}

char *scan_text(struct span string)
{
	json_t *decoded = NULL;
	char *text;

	/* With its quotes it is a value.  A NUL in it is left as it is written. */
	if (memchr(string.text, '\\', string.n))
		decoded = json_loadb(string.text - 1, string.n + 2, JSON_DECODE_ANY, NULL);
	text = decoded ? strdup(json_string_value(decoded)) : strndup(string.text, string.n);
	json_decref(decoded);
	if (!text)
		abort();
	return text;
}
