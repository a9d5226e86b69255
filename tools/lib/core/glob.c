/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <string.h>
#include <plumb/core/glob.h>

/* The length of "[...]" at TEXT; 0: none, or a single bracket. */
static size_t class_length(const char *text)
{
	const char *p = text + 1;

	if (*text != '[')
		return 0;
	p += *p == '!' || *p == '^';
	p += *p == ']'; /* as the first, it is a member of the class */
	while (*p && *p != ']') {
		if (*p == '[' && p[1] == ':' && strstr(p + 2, ":]"))
			p = strstr(p + 2, ":]") + 2;
		else
			p += *p == '\\' && p[1] ? 2 : 1;
	}
	return *p ? p + 1 - text : 0;
}

static int hex(char digit)
{
	return isdigit((unsigned char)digit) ? digit - '0'
					     : tolower((unsigned char)digit) - 'a' + 10;
}

/* Sets which bytes the first element of the pattern TEXT matches; returns the rest. */
static const char *read_element(const char *text, bool takes[256])
{
	char element[256] = "", byte[2] = "";
	size_t n = class_length(text);

	memset(takes, 0, 256 * sizeof(*takes));
	if (text[0] == '\\' && text[1] == 'x' && isxdigit((unsigned char)text[2]) &&
	    isxdigit((unsigned char)text[3])) {
		takes[hex(text[2]) << 4 | hex(text[3])] = true;
		return text + 4;
	}
	if (!n)
		n = *text == '\\' && text[1] ? 2 : 1;
	memcpy(element, text, n);
	for (int c = 1; c < 256; c++) {
		*byte = c;
		takes[c] = n == 1 && *text != '?' ? *text == *byte : !fnmatch(element, byte, 0);
	}
	return text + n;
}

/* The only byte that the element matches; 0: several or none. */
static char only_byte(const bool takes[256])
{
	int only = 0;

	for (int c = 1; c < 256; c++)
		if (takes[c])
			only = only ? 256 : c;
	return only < 256 ? only : 0;
}

int plumb_globs_add(struct plumb_globs *g, const char *pattern, char name[PLUMB_COMM_LEN])
{
	struct plumb_globs with = *g;
	uint32_t state = g->states, n = 0;
	bool takes[256], literal = true;
	char byte;

	if (strlen(pattern) > 255 || state > 63)
		return -E2BIG;
	with.starts |= 1ULL << state;
	while (*pattern) {
		if (*pattern == '*') {
			with.stars |= 1ULL << state;
			literal = false;
			pattern++;
			continue;
		}
		pattern = read_element(pattern, takes);
		if (++n == PLUMB_COMM_LEN)
			return -ENAMETOOLONG;
		byte = only_byte(takes);
		literal &= byte != 0;
		name[n - 1] = byte;
		state++;
		for (int c = 1; c < 256 && state < 64; c++)
			if (takes[c])
				with.bytes[c] |= 1ULL << state;
	}
	memset(name + n, 0, PLUMB_COMM_LEN - n);
	if (literal)
		return 1;
	if (state > 63)
		return -E2BIG;
	with.ends |= 1ULL << state;
	with.states = state + 1;
	with.n++;
	*g = with;
	return 0;
}
