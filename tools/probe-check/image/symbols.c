/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * symbols: the kernel's own table of symbols (kallsyms), from its bytes.
 *
 * The kernel's scripts/kallsyms.c makes it, and functions/kallsyms.c reads it.  A name is a
 * sequence of one-byte tokens; each of the 256 tokens stands for a string.  Nothing in the bytes
 * says where the table is, and the order of its parts has changed.  Its table of tokens can be
 * recognized: digits stand for themselves, and the index of the tokens follows.  The other parts
 * are found from there.  Each is checked against the others, and the addresses have to rise.
 */
#include "image/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP         256 /* symbols per marker; a marker is the offset of their names */
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

/* The number of N bytes at AT; 0 if they are not all there. */
static uint64_t read_number(const struct table *t, size_t at, size_t n)
{
	uint64_t value = 0;

	if (at < t->size && t->size - at >= n)
		memcpy(&value, t->bytes + at, n);
	return value;
}

static size_t align(size_t at, size_t to)
{
	return (at + to - 1) / to * to;
}

/* Return whether AT is the index with the offset of each token, if the token '0' is at DIGITS. */
static bool is_index(struct table *t, size_t at, size_t digits)
{
	size_t zero = read_number(t, at + 2 * '0', 2), token;

	if (at + 512 > t->size || read_number(t, at, 2) || zero > digits)
		return false;
	for (size_t i = 1; i < 256; i++) {
		token = digits - zero + read_number(t, at + 2 * i, 2);
		if (token >= at || token <= digits - zero || t->bytes[token - 1] ||
		    read_number(t, at + 2 * i, 2) <= read_number(t, at + 2 * (i - 1), 2))
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

/*
 * Return whether TO can be the marker after FROM.  Each name of a group takes at least two bytes.
 */
static bool is_step(uint32_t from, uint32_t to)
{
	return to > from && to - from >= 2 * GROUP && to - from <= LONGEST * GROUP;
}

/* The markers are 0, then rising: before the tokens, in 6.2 and 6.3 with another part between. */
static bool find_markers(struct table *t)
{
	size_t at, n;

	for (at = t->tokens & ~3UL; at >= 4; at -= 4) {
		if (read_number(t, at - 4, 4))
			continue;
		for (n = 1; at - 4 + 4 * n + 4 <= t->tokens; n++)
			if (!is_step(read_number(t, at + 4 * n - 8, 4),
				     read_number(t, at + 4 * n - 4, 4)))
				break;
		if (n >= FEWEST_GROUPS) {
			t->markers = at - 4;
			t->n_markers = n;
			return true;
		}
	}
	return false;
}

/* The number of tokens of the name at *AT, which is moved to the first token; 0: not a name. */
static size_t read_length(const struct table *t, size_t *at)
{
	size_t n = *at < t->markers ? t->bytes[(*at)++] : 0;

	if (n & 0x80 && *at < t->markers) /* names over 127 tokens, from 6.1 on */
		n = (n & 0x7f) | (size_t)t->bytes[(*at)++] << 7;
	return n <= LONGEST && *at + n <= t->markers ? n : 0;
}

/* Return whether N names from AT on end at the markers and agree with these. */
static bool are_names(const struct table *t, size_t at, size_t n)
{
	size_t first = at, length;

	for (size_t i = 0; i < n; i++) {
		if (i % GROUP == 0 && at - first != read_number(t, t->markers + i / GROUP * 4, 4))
			return false;
		length = read_length(t, &at);
		if (!length)
			return false;
		at += length;
	}
	return align(at, 8) >= t->markers;
}

/* The number of symbols, the names and the markers follow one another. */
static bool find_names(struct table *t)
{
	size_t at, n, last = read_number(t, t->markers + 4 * (t->n_markers - 1), 4) & ~3UL;

	/* What follows the markers may look like another one. */
	if (t->n_markers > FEWEST_GROUPS)
		last = read_number(t, t->markers + 4 * (t->n_markers - 2), 4) & ~3UL;
	for (at = t->markers > last ? t->markers - last : 0; at >= 8; at -= 4) {
		for (size_t width = 4; width <= 8; width += 4) {
			n = read_number(t, at - width, 4);
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

/* The encodings of addresses in the kernel's versions. */
enum form {
	BASE, /* offset from a base; zero in a file whose relocations are applied at boot (5.10) */
	PER_CPU, /* negative: offset from a base; otherwise absolute (per-CPU symbols) */
	PLACE,   /* offset from the address of the offset itself (7.x) */
};

/* Decode the offsets at AT; return whether the addresses rise. */
static bool take_addresses(struct table *t, size_t at, enum form form, uint64_t base)
{
	uint64_t address, before = 0;
	int32_t offset;

	if (at > t->size || t->size - at < 4 * t->n)
		return false;
	for (size_t i = 0; i < t->n; i++) {
		offset = read_number(t, at + 4 * i, 4);
		address = form == PLACE  ? t->address + at + 4 * i + offset
			  : form == BASE ? (base ?: t->address) + (uint32_t)offset
			  : offset < 0   ? base - 1 - offset
					 : (uint64_t)offset;
		if (address < before)
			return false;
		t->addresses[i] = before = address;
	}
	t->is_relative = form == PLACE || (form == BASE && !base);
	/* In the forms with a base, zeros would give one address for all symbols. */
	return t->addresses[t->n - 1] - t->addresses[0] > t->n;
}

static bool find_addresses(struct table *t)
{
	size_t size = align(4 * t->n, 8), at;
	bool found = false;
	uint64_t base;

	/* Since 6.4 they follow the tokens; earlier they precede the number of symbols. */
	for (size_t to = 4; !found && to <= 8; to *= 2) {
		at = align(t->end_of_index, to);
		base = read_number(t, align(at + 4 * t->n, 8), 8);
		/* Addresses that rise in another form also rise as PLACE, so it is tried last. */
		found = take_addresses(t, at, BASE, base) || take_addresses(t, at, PER_CPU, base) ||
			take_addresses(t, at, PLACE, 0);
	}
	at = t->number - 8;
	if (!found && t->number >= size + 8)
		found = take_addresses(t, at - size, BASE, read_number(t, at, 8)) ||
			take_addresses(t, at - size, PER_CPU, read_number(t, at, 8));
	return found;
}

/* Expand the tokens of a symbol to its type and name; false: not a symbol. */
static bool expand(const struct table *t, size_t *at, char *name)
{
	size_t length = read_length(t, at), n = 0;
	const char *token;

	for (; length; length--) {
		token = (const char *)t->bytes + t->tokens +
			read_number(t, t->token_index + 2 * t->bytes[(*at)++], 2);
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
