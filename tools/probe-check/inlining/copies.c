/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "inlining/copies.h"

#include "image/x86.h"

#include <elf.h>
#include <stdlib.h>

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
	const struct looking *in;
	uint64_t address;
	size_t size, n, instructions;
	struct mark marks[MOST];
};

struct looking {
	const struct plumb_image *image;
	uint64_t fentry, return_thunk, thunks[2]; /* of indirect calls: start, end */
};

/* --- marks --- */

#define INDIRECT 1 /* the mark of all calls by pointer */

static uint64_t mix(uint64_t operation, uint64_t place, uint64_t immediate)
{
	uint64_t hash = operation * 0x9e3779b97f4a7c15ULL;

	hash = (hash ^ hash >> 29 ^ place) * 0xbf58476d1ce4e5b9ULL;
	return (hash ^ hash >> 32 ^ immediate) * 0x94d049bb133111ebULL;
}

static uint64_t mark_call(uint64_t target)
{
	return mix(X86_INS_CALL, target, 0);
}

/* The mark of a jump or call to TARGET; 0: TARGET is in the function, or all functions call it. */
static uint64_t mark_target(const struct body *b, uint64_t target)
{
	const struct looking *l = b->in;

	if (target - b->address < b->size || target == l->fentry || target == l->return_thunk)
		return 0;
	return target >= l->thunks[0] && target < l->thunks[1] ? INDIRECT : mark_call(target);
}

static uint64_t mark_of(const struct body *b, const cs_insn *in)
{
	const cs_x86 *x86 = &in->detail->x86;
	const cs_x86_op *memory = NULL, *immediate = NULL;
	uint64_t operation = in->id, place;

	if (x86_is_direct(in))
		return mark_target(b, x86->operands[0].imm);
	if (in->id == X86_INS_JMP)
		operation = X86_INS_CALL; /* the last call of a function is a jump */
	if (operation == X86_INS_CALL && x86->operands[0].type == X86_OP_REG)
		return INDIRECT;
	for (const cs_x86_op *op = x86->operands; op < x86->operands + x86->op_count; op++) {
		memory = op->type == X86_OP_MEM ? op : memory;
		immediate = op->type == X86_OP_IMM ? op : immediate;
		operation = operation << 12 | op->type << 8 | op->size;
	}
	if (!memory)
		return immediate ? mix(operation, 0, immediate->imm) : 0;
	/* Variables without a register are on the stack; lea does arithmetic. */
	if (memory->mem.base == X86_REG_RSP ||
	    (in->id == X86_INS_LEA && memory->mem.base != X86_REG_RIP))
		return 0;
	place = memory->mem.base == X86_REG_RIP ? in->address + in->size : 0;
	return mix(operation, place + memory->mem.disp, immediate ? immediate->imm : 0);
}

static bool add_mark(const cs_insn *in, void *context)
{
	struct body *b = context;
	uint64_t what;

	if (in->id == X86_INS_NOP || in->id == X86_INS_ENDBR64 || in->id == X86_INS_INT3)
		return true;
	b->instructions++;
	what = mark_of(b, in);
	if (what && b->n < MOST)
		b->marks[b->n] = (struct mark){what, in->address - b->address};
	b->n += what != 0;
	return b->n <= MOST;
}

/* False: there are too many marks, or some of the code cannot be decoded. */
static bool read_body(const struct looking *l, uint64_t address, size_t size, struct body *b)
{
	const unsigned char *code = entry_code(l->image, address, size);

	b->in = l;
	b->address = address;
	b->size = size;
	b->n = b->instructions = 0;
	return code && x86_visit(code, size, address, false, add_mark, b) && b->n <= MOST;
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
		if (b->marks[i].what == mark_call(address))
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

/* The bytes from a symbol to the next one with another address; 0: there is none. */
static size_t size_of(const struct plumb_symbols *symbols, const struct plumb_symbol *s)
{
	const struct plumb_symbol *next = s;

	while (++next < symbols->all + symbols->n)
		if (next->address != s->address)
			return next->address - s->address;
	return 0;
}

/* The first function near F that has a copy of F and does not call it; B is scratch space. */
static const char *search(const struct plumb_symbols *symbols, const struct body *f, struct body *b)
{
	const struct plumb_symbol *s;
	uint64_t last = 0;

	for (s = symbols->all; s < symbols->all + symbols->n; last = s++->address) {
		size_t size = size_of(symbols, s);

		if (s->address != last && s->address != f->address &&
		    s->address + NEAR > f->address && s->address < f->address + NEAR &&
		    size >= f->size / 2 && size < 8 * NEAR &&
		    read_body(f->in, s->address, size, b) && !calls(b, f->address) &&
		    has_copy(f, b))
			return s->name;
	}
	return NULL;
}

const char *copies_find(const struct plumb_image *image, const struct plumb_symbols *symbols,
			uint64_t address)
{
	const struct plumb_symbol *s = symbols->all, *end = s + symbols->n;
	struct looking l = {
		.image = image,
		.fentry = plumb_image_address(image, "__fentry__"),
		.return_thunk = plumb_image_address(image, "__x86_return_thunk"),
		.thunks = {plumb_image_address(image, "__x86_indirect_thunk_array"), 0},
	};
	struct body *f = malloc(sizeof(*f)), *b = malloc(sizeof(*b));
	const char *name = NULL;
	size_t size;

	l.thunks[1] = l.thunks[0] + 16 * 32;
	while (s < end && s->address != address)
		s++;
	size = s < end ? size_of(symbols, s) : 0;
	if (f && b && image->machine == EM_X86_64 && size && size <= LONGEST &&
	    read_body(&l, address, size, f) && f->instructions <= MOST_CODE &&
	    count_different(f) >= FEWEST)
		name = search(symbols, f, b);
	free(f);
	free(b);
	return name;
}
