/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "inlining/copies.h"

#include "image/entry.h"
#include "image/x86.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEAR      (32 << 10) /* bytes; code of one source file is rarely larger */
#define LONGEST   256        /* bytes, with padding, of a function that is both inlined and kept */
#define MOST_CODE 24         /* instructions of such a function */
#define MOST      2048       /* marks of a function, at most */
#define FEWEST    4          /* different marks that make a function distinct */

/* A hash of what an instruction does, whichever registers it uses. */
struct mark {
	uint64_t what;
	uint32_t at; /* bytes from the function's start */
};

struct body {
	uint64_t address;
	size_t size, n, instructions;
	struct mark marks[MOST];
};

struct looking {
	const struct plumb_image *image;
	uint64_t fentry, return_thunk, thunks[2]; /* of indirect calls: start, end */
};

/* --- marks --- */

enum { CALL = 1, INDIRECT, CONSTANT, ACCESS, BOTH };

static uint64_t mix(uint64_t kind, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t hash = kind;

	hash = (hash ^ a) * 0x9e3779b97f4a7c15ULL;
	hash = (hash ^ hash >> 29 ^ b) * 0xbf58476d1ce4e5b9ULL;
	return (hash ^ hash >> 32 ^ c) * 0x94d049bb133111ebULL;
}

/* One number for all encodings of an operation: they differ by register and size of constant. */
static uint64_t operation(const struct x86_instruction *in)
{
	unsigned int op = in->opcode;

	if (op < 0x40 && (op & 7) >= 4)
		return 0x8000 | op >> 3; /* add $1,%al: the same as 80 /0 */
	if (op >= 0x80 && op <= 0x83)
		return 0x8000 | in->reg;
	if ((op & ~1U) == 0xa8)
		return 0xf600;
	if ((op & ~1U) == 0xf6)
		return 0xf600 | in->reg;
	if (op >= 0xb8 && op <= 0xbf)
		return 0xc700;
	if ((op & ~1U) == 0xc6 || op == 0xff || op == 0xc0 || op == 0xc1 || op == 0x0fba)
		return (uint64_t)op << 8 | in->reg;
	return (uint64_t)op << 16;
}

/* The mark of a jump or call to TARGET; 0: TARGET is in the function, or all functions call it. */
static uint64_t mark_target(const struct looking *l, const struct body *b, uint64_t target)
{
	if (target - b->address < b->size || target == l->fentry || target == l->return_thunk)
		return 0;
	if (target >= l->thunks[0] && target < l->thunks[1])
		return INDIRECT;
	return mix(CALL, target, 0, 0);
}

/* nop, endbr64, int3 */
static bool is_filling(const struct x86_instruction *in)
{
	return in->opcode == 0x90 || in->opcode == 0x0f1f || in->opcode == 0x0f1e ||
	       in->opcode == 0xcc;
}

static uint64_t mark_of(const struct looking *l, const struct body *b, uint64_t next,
			const struct x86_instruction *in)
{
	uint64_t op = operation(in), sizes = in->prefixes & (X86_SHORT | X86_WIDE);

	if (is_filling(in))
		return 0;
	if (in->has_relative)
		return mark_target(l, b, next + in->offset);
	if (in->opcode == 0xff && (in->reg == 2 || in->reg == 4)) {
		op = 0xff02; /* a call, or a jump if it is a tail call */
		if (!in->has_memory)
			return INDIRECT;
	}
	if (in->has_memory && in->base == X86_SP)
		return 0; /* on the stack: variables without a register */
	if (in->has_memory && in->opcode == 0x8d && in->base != X86_IP)
		return 0; /* lea: arithmetic */
	if (in->has_memory)
		return mix(in->has_immediate ? BOTH : ACCESS, op << 8 | sizes,
			   in->base == X86_IP ? next + in->offset : (uint64_t)in->offset,
			   in->immediate);
	return in->has_immediate ? mix(CONSTANT, op << 8 | sizes, 0, in->immediate) : 0;
}

/* False: some of the code cannot be decoded. */
static bool read_body(const struct looking *l, uint64_t address, size_t size, struct body *b)
{
	const unsigned char *code = entry_code(l->image, address, size);
	struct x86_instruction in;
	uint64_t what;

	b->address = address;
	b->size = size;
	b->n = b->instructions = 0;
	for (size_t at = 0; code && at < size; at += in.length) {
		if (!x86_decode(code + at, size - at, &in))
			return false;
		b->instructions += !is_filling(&in);
		what = mark_of(l, b, address + at + in.length, &in);
		if (what && b->n == MOST)
			return false;
		if (what)
			b->marks[b->n++] = (struct mark){what, at};
	}
	return code;
}

/* --- copies --- */

/* Whether B has all marks of F from its mark FIRST on, within the size that a copy may have. */
static bool has_copy_from(const struct body *f, const struct body *b, size_t first)
{
	size_t limit = b->marks[first].at + 2 * f->size + 128, end = first, found = 0;
	bool used[MOST] = {};

	while (end < b->n && b->marks[end].at < limit)
		end++;
	if (end - first < f->n)
		return false;
	for (size_t i = 0; i < f->n; i++) {
		for (size_t j = first; j < end; j++) {
			if (used[j] || b->marks[j].what != f->marks[i].what)
				continue;
			used[j] = true;
			found++;
			break;
		}
		if (found <= i)
			return false;
	}
	return true;
}

/* A function with hardly any other marks is a similar function, not one with a copy. */
static bool has_copy(const struct body *f, const struct body *b)
{
	if (b->n <= f->n + 1)
		return false;
	for (size_t i = 0; i < b->n; i++)
		for (size_t j = 0; j < f->n; j++)
			if (b->marks[i].what == f->marks[j].what) {
				if (has_copy_from(f, b, i))
					return true;
				break;
			}
	return false;
}

static bool calls(const struct body *b, uint64_t address)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->marks[i].what == mix(CALL, address, 0, 0))
			return true;
	return false;
}

static size_t count_different(const struct body *f)
{
	size_t n = 0;

	for (size_t i = 0, j; i < f->n; i++) {
		for (j = 0; j < i && f->marks[j].what != f->marks[i].what; j++)
			;
		n += j == i;
	}
	return n;
}

/* --- symbols, by address --- */

/* The next code symbol from *TEXT on whose address differs from the last one. */
static bool next_function(const char **text, uint64_t *address, const char **name)
{
	uint64_t last = *address;
	char type;

	while (**text) {
		char *end;

		*address = strtoull(*text, &end, 16);
		type = end[0] ? end[1] : 0;
		*name = end[0] && end[1] && end[2] ? end + 3 : end;
		*text = *name + strcspn(*name, "\n");
		*text += **text == '\n';
		if (strchr("tTwW", type) && *address != last)
			return true;
	}
	return false;
}

/*
 * Without F: the name of the function at ADDRESS, with its size in *SIZE_OF_IT.  With F, which is
 * at ADDRESS: the name of a function near it that has a copy of F and does not call it; B is
 * scratch space.  NULL: there is none.
 */
static const char *search(const struct looking *l, uint64_t address, const struct body *f,
			  struct body *b, size_t *size_of_it)
{
	const char *text = l->image->symbols, *name = NULL, *next_name = NULL;
	uint64_t start = 0, next = 0;

	while (next_function(&text, &next, &next_name)) {
		size_t size = next - start;
		bool near = start && start + NEAR > address && start < address + NEAR;

		if (!f && start == address) {
			*size_of_it = size;
			return name;
		}
		if (f && near && start != address && size >= f->size / 2 && size < 8 * NEAR &&
		    read_body(l, start, size, b) && !calls(b, address) && has_copy(f, b))
			return name;
		start = next;
		name = next_name;
	}
	return NULL;
}

const char *copies_find(const struct plumb_image *image, uint64_t address, char *text, size_t size)
{
	struct looking l = {
		.image = image,
		.fentry = plumb_image_address(image, "__fentry__"),
		.return_thunk = plumb_image_address(image, "__x86_return_thunk"),
		.thunks = {plumb_image_address(image, "__x86_indirect_thunk_array"), 0},
	};
	struct body *f = malloc(sizeof(*f)), *b = malloc(sizeof(*b));
	const char *name = NULL;
	size_t length = 0;

	l.thunks[1] = l.thunks[0] + 16 * 32;
	if (f && b && image->machine == EM_X86_64 && image->symbols &&
	    search(&l, address, NULL, NULL, &length) && length <= LONGEST &&
	    read_body(&l, address, length, f) && f->instructions <= MOST_CODE &&
	    count_different(f) >= FEWEST)
		name = search(&l, address, f, b, NULL);
	if (name)
		snprintf(text, size, "%.*s", (int)strcspn(name, " \t\n"), name);
	free(f);
	free(b);
	return name ? text : NULL;
}
