/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kallsyms: a table of symbols, made as scripts/kallsyms.c of the kernel does, in all its forms. */
#pragma once

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SYMBOLS 5000
#define BASE    0xffffffff81000000

enum form { BEFORE_6_2, BEFORE_6_4, BEFORE_7, NOW, ARM64, N_FORMS };

static struct {
	unsigned char bytes[1 << 20];
	size_t n;
} made;

static inline void align_made(size_t to)
{
	while (made.n % to)
		made.bytes[made.n++] = 0;
}

static inline void put(uint64_t value, size_t size)
{
	memcpy(made.bytes + made.n, &value, size);
	made.n += size;
}

/* Symbol I; those per CPU come first, where there are such. */
static inline uint64_t address_of(int i, enum form form)
{
	if (form < NOW && i < 10)
		return i / 2 * 8;
	return BASE + (uint64_t)(i / 2) * 16;
}

static inline void name_of(int i, char *name)
{
	if (i == SYMBOLS - 1) {
		memset(name, 'x', 300);
		name[0] = 't';
		name[300] = 0;
	} else
		sprintf(name, "%ctext_%d.part.%d", "TtdAr"[i % 5], i, i % 7);
}

/* Tokens: a character each, but two that stand for more. */
static inline const char *token(int c)
{
	static char text[2];

	text[0] = c;
	return c == 1 ? "text_" : c == 2 ? ".part." : isgraph(c) ? text : "??";
}

static inline void put_names(size_t *markers)
{
	char name[512], *p;
	size_t start = made.n, length, n = 0;
	unsigned char packed[512];

	for (int i = 0; i < SYMBOLS; i++) {
		if (i % 256 == 0)
			markers[n++] = made.n - start;
		name_of(i, name);
		for (p = name, length = 0; *p; length++) {
			int c = !strncmp(p, "text_", 5) ? 1 : !strncmp(p, ".part.", 6) ? 2 : *p;

			packed[length] = c;
			p += strlen(token(c));
		}
		put(length < 128 ? length : 0x80 | (length & 0x7f) | length >> 7 << 8,
		    length < 128 ? 1 : 2);
		memcpy(made.bytes + made.n, packed, length);
		made.n += length;
	}
}

static inline void put_tokens(size_t to)
{
	uint16_t index[256];
	size_t start;

	align_made(to);
	start = made.n;
	for (int c = 0; c < 256; c++) {
		index[c] = made.n - start;
		strcpy((char *)made.bytes + made.n, token(c));
		made.n += strlen(token(c)) + 1;
	}
	align_made(to);
	memcpy(made.bytes + made.n, index, sizeof(index));
	made.n += sizeof(index);
	align_made(to);
}

static inline void put_offsets(enum form form, uint64_t span)
{
	uint64_t address;

	for (int i = 0; i < SYMBOLS; i++) {
		address = address_of(i, form);
		put(form == NOW         ? address - (span + made.n)
		    : form == ARM64     ? address - BASE
		    : address < SYMBOLS ? address
					: BASE - 1 - address,
		    4);
	}
	align_made(8);
	if (form != NOW)
		put(BASE, 8);
}

static inline void make_table(enum form form, uint64_t span)
{
	size_t markers[SYMBOLS / 256 + 1], to = form == NOW ? 4 : 8;

	made.n = 0;
	for (int i = 0; i < 10000; i++) /* what is before it */
		put(i * 0x9e3779b9, 4);
	put(0, 8);
	if (form < BEFORE_7)
		put_offsets(form, span);
	put(SYMBOLS, 4);
	align_made(to);
	put_names(markers);
	align_made(to);
	for (int i = 0; i <= (SYMBOLS - 1) / 256; i++)
		put(markers[i], 4);
	align_made(to);
	for (int i = 0; form == BEFORE_6_4 && i < SYMBOLS; i++)
		put(i * 7919 % SYMBOLS, 3);
	put_tokens(to);
	if (form >= BEFORE_7)
		put_offsets(form, span);
	for (int i = 0; i < 1000; i++)
		put(i * 0x9e3779b9, 4);
}
