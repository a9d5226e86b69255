/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * image-symbols: the kernel's own table of symbols, from its bytes.
 *
 * scripts/kallsyms.c of the kernel makes it, kernel/kallsyms.c reads it.  Names are
 * strings of tokens, one byte each; the 256 tokens are texts.  Nothing in the bytes
 * says where the table is, and its parts have changed their order: what is unmistakable
 * is the table of tokens, in which digits stand for themselves, with the index that
 * follows it.  From there the other parts are found, each checked against the others,
 * and that the addresses rise.
 */
#include "image-file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP         256 /* a marker says where the names of so many symbols begin */
#define MOST          (1U << 21)
#define LONGEST       512 /* a name, with its type */
#define FEWEST_GROUPS 16

struct table {
	const unsigned char *bytes;
	size_t size;
	uint64_t address;
	/* Offsets in the bytes. */
	size_t tokens, token_index, end_of_index, markers, names, number;
	size_t n_markers, n;
	uint64_t *addresses;
	bool is_relative;
};

static uint16_t read_u16(const struct table *t, size_t at)
{
	uint16_t value = 0;

	if (at < t->size && t->size - at >= sizeof(value))
		memcpy(&value, t->bytes + at, sizeof(value));
	return value;
}

static uint32_t read_u32(const struct table *t, size_t at)
{
	uint32_t value = 0;

	if (at < t->size && t->size - at >= sizeof(value))
		memcpy(&value, t->bytes + at, sizeof(value));
	return value;
}

static uint64_t read_u64(const struct table *t, size_t at)
{
	uint64_t value = 0;

	if (at < t->size && t->size - at >= sizeof(value))
		memcpy(&value, t->bytes + at, sizeof(value));
	return value;
}

static size_t align(size_t at, size_t to)
{
	return (at + to - 1) / to * to;
}

/* Does an index at AT say of each token where it begins, if '0' is at DIGITS? */
static bool is_index(struct table *t, size_t at, size_t digits)
{
	size_t zero = read_u16(t, at + 2 * '0'), token;

	if (at + 512 > t->size || read_u16(t, at) || zero > digits)
		return false;
	for (size_t i = 1; i < 256; i++) {
		token = digits - zero + read_u16(t, at + 2 * i);
		if (token >= at || token <= digits - zero || t->bytes[token - 1] ||
		    read_u16(t, at + 2 * i) <= read_u16(t, at + 2 * (i - 1)))
			return false;
	}
	t->tokens = digits - zero;
	t->token_index = at;
	t->end_of_index = at + 512;
	return true;
}

static bool find_tokens(struct table *t)
{
	static const char digits[] = "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";
	const unsigned char *p = t->bytes, *end = t->bytes + t->size, *next;
	size_t at;

	while ((p = memmem(p, end - p, digits, sizeof(digits)))) {
		next = p;
		for (int i = '0'; next && i < 256; i++) {
			next = memchr(next, 0, end - next);
			next = next ? next + 1 : NULL;
		}
		at = next ? next - t->bytes : 0;
		for (size_t to = 2; next && to <= 8; to *= 2)
			if (is_index(t, align(at, to), p - t->bytes))
				return true;
		p++;
	}
	return false;
}

/* A group's names take two bytes each at least. */
static bool is_step(uint32_t from, uint32_t to)
{
	return to > from && to - from >= 2 * GROUP && to - from <= LONGEST * GROUP;
}

/* 0, and then always more: before the tokens, in 6.2 and 6.3 with another part between. */
static bool find_markers(struct table *t)
{
	size_t at, n;

	for (at = t->tokens & ~3UL; at >= 4; at -= 4) {
		if (read_u32(t, at - 4))
			continue;
		for (n = 1; at - 4 + 4 * n + 4 <= t->tokens; n++)
			if (!is_step(read_u32(t, at + 4 * n - 8), read_u32(t, at + 4 * n - 4)))
				break;
		if (n >= FEWEST_GROUPS) {
			t->markers = at - 4;
			t->n_markers = n;
			return true;
		}
	}
	return false;
}

/* The length of the name at AT, and where its tokens are; 0: it makes no sense. */
static size_t read_length(const struct table *t, size_t *at)
{
	size_t n = *at < t->markers ? t->bytes[(*at)++] : 0;

	if (n & 0x80 && *at < t->markers) /* long ones, from 6.1 on */
		n = (n & 0x7f) | (size_t)t->bytes[(*at)++] << 7;
	return n <= LONGEST && *at + n <= t->markers ? n : 0;
}

/* Do N names from AT on fill the room before the markers, as these say? */
static bool are_names(const struct table *t, size_t at, size_t n)
{
	size_t first = at, length;

	for (size_t i = 0; i < n; i++) {
		if (i % GROUP == 0 && at - first != read_u32(t, t->markers + i / GROUP * 4))
			return false;
		length = read_length(t, &at);
		if (!length)
			return false;
		at += length;
	}
	return align(at, 8) >= t->markers;
}

/* They begin behind their number, before the markers. */
static bool find_names(struct table *t)
{
	size_t at, n, last = read_u32(t, t->markers + 4 * (t->n_markers - 1)) & ~3UL;

	/* What follows the markers may look like one more. */
	if (t->n_markers > FEWEST_GROUPS)
		last = read_u32(t, t->markers + 4 * (t->n_markers - 2)) & ~3UL;
	for (at = t->markers > last ? t->markers - last : 0; at >= 8; at -= 4) {
		for (size_t width = 4; width <= 8; width += 4) {
			n = read_u32(t, at - width);
			if (n > (FEWEST_GROUPS - 1) * GROUP && n <= MOST &&
			    (n - 1) / GROUP + 1 <= t->n_markers &&
			    (n - 1) / GROUP + 2 >= t->n_markers && are_names(t, at, n)) {
				t->names = at;
				t->number = at - width;
				t->n = n;
				return true;
			}
		}
		if (t->markers - at > (size_t)MOST * LONGEST)
			break;
	}
	return false;
}

/* The forms that addresses have had. */
enum form {
	BASE,    /* relative to a number */
	PER_CPU, /* the same, but negative if so; what is per CPU is absolute */
	PLACE,   /* relative to where the offset itself is (7.x) */
};

/* Do the offsets at AT, in that form with BASE, give rising addresses? */
static bool take_addresses(struct table *t, size_t at, enum form form, uint64_t base)
{
	uint64_t address, before = 0;
	int32_t offset;

	if (at > t->size || t->size - at < 4 * t->n)
		return false;
	for (size_t i = 0; i < t->n; i++) {
		offset = read_u32(t, at + 4 * i);
		address = form == PLACE  ? t->address + at + 4 * i + offset
			  : form == BASE ? base + (uint32_t)offset
			  : offset < 0   ? base - 1 - offset
					 : (uint64_t)offset;
		if (address < before)
			return false;
		t->addresses[i] = before = address;
	}
	t->is_relative = form == PLACE;
	/* All in one place is what zeros look like. */
	return t->addresses[t->n - 1] - t->addresses[0] > t->n;
}

static bool find_addresses(struct table *t)
{
	size_t size = align(4 * t->n, 8), at;
	bool found = false;
	uint64_t base;

	/* Since 6.4 behind the tokens, before that before the names' number. */
	for (size_t to = 4; !found && to <= 8; to *= 2) {
		at = align(t->end_of_index, to);
		base = read_u64(t, align(at + 4 * t->n, 8));
		/* Rising ones of another form would be rising as PLACE, too: not the other way. */
		found = take_addresses(t, at, BASE, base) || take_addresses(t, at, PER_CPU, base) ||
			take_addresses(t, at, PLACE, 0);
	}
	at = t->number - 8;
	if (!found && t->number >= size + 8)
		found = take_addresses(t, at - size, BASE, read_u64(t, at)) ||
			take_addresses(t, at - size, PER_CPU, read_u64(t, at));
	return found;
}

/* The type and the name of a symbol, its tokens put in; false: it makes no sense. */
static bool expand(const struct table *t, size_t *at, char *name)
{
	size_t length = read_length(t, at), n = 0;
	const char *token;

	for (; length; length--) {
		token = (const char *)t->bytes + t->tokens +
			read_u16(t, t->token_index + 2 * t->bytes[(*at)++]);
		for (; *token && n < LONGEST; token++)
			name[n++] = *token;
	}
	name[n] = 0;
	return n > 1 && n < LONGEST && !strpbrk(name, " \t\n");
}

static char *print(const struct table *t)
{
	size_t size = 0, at = t->names;
	char *text = NULL, name[LONGEST + 1];
	FILE *out = open_memstream(&text, &size);
	bool good = out;

	for (size_t i = 0; good && i < t->n; i++) {
		good = expand(t, &at, name);
		fprintf(out, "%016lx %c %s\n", t->addresses[i], name[0], name + 1);
	}
	if (out && fclose(out))
		good = false;
	if (good)
		return text;
	free(text);
	return NULL;
}

char *plumb_image_symbols(const struct plumb_span *span, bool *is_relative)
{
	struct table t = {.bytes = span->bytes, .size = span->size, .address = span->address};
	char *text = NULL;

	if (find_tokens(&t) && find_markers(&t) && find_names(&t)) {
		t.addresses = calloc(t.n, sizeof(*t.addresses));
		if (t.addresses && find_addresses(&t))
			text = print(&t);
		free(t.addresses);
	}
	*is_relative = t.is_relative;
	return text;
}
