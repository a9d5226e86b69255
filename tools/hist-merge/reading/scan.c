/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "reading/scan.h"
#include <jansson.h>
#include <time.h>

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

/* What is rare is left to jansson: N bytes from FROM on, a string, number or word. */
static bool judge(struct scan *s, const char *from, size_t n)
{
	json_error_t error;
	json_t *value = json_loadb(
		from, n, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);

	s->at = from + (value ? (int)n : error.position);
	json_decref(value);
	if (value)
		return true;
	if (json_error_code(&error) == json_error_invalid_utf8)
		return scan_fail(s, "not UTF-8");
	return scan_fail(s, *from == '"' ? "no such escape" : "malformed value");
}

bool scan_string(struct scan *s, struct span *text)
{
	const char *at;
	bool plain = true;

	if (s->error)
		return false;
	if (next(s) != '"')
		return *s->at ? scan_fail(s, "a string is expected") : wrong_end(s);
	text->text = at = s->at + 1;
	for (; (unsigned char)*at >= 0x20 && *at != '"'; at++) {
		plain &= *at != '\\' && (unsigned char)*at < 0x80;
		at += *at == '\\' && at[1];
	}
	text->n = at - text->text;
	if (*at == '"' && !plain)
		return judge(s, s->at, text->n + 2);
	s->at = at;
	if (*at != '"')
		return scan_fail(s, *at ? "a control character in a string"
					: "the text ends inside a value");
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

bool scan_null(struct scan *s)
{
	return !s->error && next(s) == 'n' && scan_word(s, "null");
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

bool scan_time(struct scan *s, uint64_t *ns)
{
	struct tm tm = {};
	char again[32] = "";
	const char *rest;
	struct span t;
	time_t seconds;

	if (!scan_string(s, &t))
		return false;
	rest = strptime(t.text, "%Y-%m-%dT%H:%M:%S.", &tm);
	if (t.n != 30 || rest != t.text + 20 || strspn(rest, "0123456789") != 9 || rest[9] != 'Z')
		return scan_fail(s, "no time as in 2026-01-31T12:00:00.000000000Z");
	seconds = timegm(&tm);
	strftime(again, sizeof(again), "%Y-%m-%dT%H:%M:%S", &tm);
	/* strptime() takes blanks for digits, and timegm() February 30th for March 2nd. */
	if (memcmp(again, t.text, 19) != 0 || tm.tm_year < 70 || tm.tm_year > 600)
		return scan_fail(s, "no such time");
	*ns = seconds;
	for (int i = 0; i < 9; i++)
		*ns = *ns * 10 + (rest[i] - '0');
	return true;
}

static bool skip_scalar(struct scan *s)
{
	struct scan number = *s;
	struct span ignored;
	uint64_t value;
	size_t end;

	if (*s->at == '"')
		return scan_string(s, &ignored);
	if (is_digit(*s->at) && scan_natural(&number, &value)) {
		s->at = number.at;
		return true;
	}
	end = strcspn(s->at, " \t\n\r,:]}");
	return end ? judge(s, s->at, end) : wrong_end(s);
}

static bool skip(struct scan *s, int depth)
{
	struct span ignored;
	char open = next(s);

	if (open != '{' && open != '[')
		return skip_scalar(s);
	if (depth == SCAN_DEPTH)
		return scan_fail(s, "nested too deep");
	for (bool more = scan_begin(s, open); more; more = scan_more(s, open + 2))
		if ((open == '{' && !scan_member(s, &ignored)) || !skip(s, depth + 1))
			return false;
	return !s->error;
}

bool scan_value(struct scan *s, struct span *text)
{
	if (s->error)
		return false;
	next(s);
	text->text = s->at;
	if (!skip(s, 0))
		return false;
	text->n = s->at - text->text;
	return true;
}

static bool scan_field(struct scan *s, const struct field *f, void *to, struct line *l)
{
	void *at = (char *)to + f->at;
	bool *is_null = (bool *)((char *)to + f->null_at);

	switch (f->kind) {
	case STRING:
		return scan_string(s, at);
	case TIME:
		return scan_time(s, at);
	case BOOL:
		return scan_bool(s, at);
	case NATURAL_OR_NULL:
		*is_null = scan_null(s);
		return *is_null || scan_natural(s, at);
	case NATURAL:
		return scan_natural(s, at);
	default:
		return f->scan(s, to, l);
	}
}

unsigned int scan_object(struct scan *s, const struct field *fields, size_t n, void *to,
			 struct line *l, const char *twice)
{
	struct span name, ignored;
	unsigned int seen = 0;
	size_t i;

	for (bool more = scan_begin(s, '{'); more; more = scan_more(s, '}')) {
		if (!scan_member(s, &name))
			break;
		for (i = 0; i < n && !spans_are_equal(name, fields[i].name); i++)
			;
		if (i < n && seen & 1U << i)
			scan_fail(s, twice);
		seen |= 1U << i;
		if (i < n)
			scan_field(s, &fields[i], to, l);
		else
			scan_value(s, &ignored);
	}
	return seen;
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
