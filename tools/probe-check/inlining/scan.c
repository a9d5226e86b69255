/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* scan: count direct calls of functions and places that take their addresses, in machine code. */
#include "inlining/code.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- marked addresses --- */

static size_t hash(uint64_t address)
{
	return (address * 0x9e3779b97f4a7c15) >> 32;
}

struct plumb_callee *plumb_scan_find(const struct plumb_scan *scan, uint64_t address,
				     enum plumb_mark mark)
{
	const struct plumb_marked *m;

	for (size_t i = hash(address);; i++) {
		m = &scan->marked[i & scan->mask];
		if (!m->address)
			return NULL;
		if (m->address == address && m->mark == mark)
			return m->callee;
	}
}

static int grow(struct plumb_scan *scan)
{
	struct plumb_scan bigger = *scan;

	bigger.mask = scan->marked ? 2 * scan->mask + 1 : 1023;
	bigger.n_marked = 0;
	bigger.marked = calloc(bigger.mask + 1, sizeof(*bigger.marked));
	if (!bigger.marked)
		return -ENOMEM;
	for (size_t i = 0; scan->marked && i <= scan->mask; i++)
		plumb_scan_mark(&bigger, scan->marked[i].address, scan->marked[i].callee,
				scan->marked[i].mark);
	free(scan->marked);
	*scan = bigger;
	return 0;
}

int plumb_scan_mark(struct plumb_scan *scan, uint64_t address, struct plumb_callee *callee,
		    enum plumb_mark mark)
{
	size_t i;

	if (!address)
		return 0;
	/* Nearly every lookup fails, so a sparse table with short probe sequences is fastest. */
	if ((!scan->marked || 8 * scan->n_marked > scan->mask) && grow(scan))
		return -ENOMEM;
	if (plumb_scan_find(scan, address, mark))
		return 0;
	for (i = hash(address); scan->marked[i & scan->mask].address; i++)
		;
	scan->marked[i & scan->mask] = (struct plumb_marked){address, callee, mark};
	scan->n_marked++;
	return 0;
}

int plumb_scan_begin(struct plumb_scan *scan, int machine, struct plumb_callee *callees, size_t n)
{
	int err;

	*scan = (struct plumb_scan){.callees = callees, .n = n, .machine = machine};
	err = grow(scan);
	for (size_t i = 0; !err && i < n; i++)
		err = plumb_scan_mark(scan, callees[i].address, &callees[i], PLUMB_MARK_CODE);
	return err;
}

void plumb_scan_end(struct plumb_scan *scan)
{
	struct plumb_callee *c, *like;

	for (c = scan->callees; scan->marked && c < scan->callees + scan->n; c++) {
		like = c->address ? plumb_scan_find(scan, c->address, PLUMB_MARK_CODE) : NULL;
		if (!like)
			continue;
		c->direct = like->direct;
		c->taken = like->taken;
		c->exported |= like->exported;
	}
	free(scan->marked);
	free(scan->starts);
	*scan = (struct plumb_scan){};
}

static uint32_t read_u32(const unsigned char *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static void count_direct(const struct plumb_scan *scan, struct plumb_callee *callee, bool is_call)
{
	callee->direct += is_call && !scan->is_init;
}

/* --- x86 --- */

/* Return whether the number at P, after N bytes of code, is the immediate of a mov or push. */
static bool is_immediate(const unsigned char *p, size_t n)
{
	if (n >= 1 && ((p[-1] & 0xf8) == 0xb8 || p[-1] == 0x68))
		return true;
	/* c7, ModRM, and perhaps SIB and displacement. */
	return (n >= 2 && p[-2] == 0xc7) || (n >= 3 && p[-3] == 0xc7) ||
	       (n >= 4 && p[-4] == 0xc7) || (n >= 6 && p[-6] == 0xc7);
}

/* Padding that compilers put after a function: int3, nop, or a longer nop. */
static bool is_padding(const unsigned char *p)
{
	return p[0] == 0xcc || p[0] == 0x90 || (p[0] == 0x0f && p[1] == 0x1f) ||
	       (p[0] == 0x66 && (p[1] == 0x90 || p[1] == 0x66 || p[1] == 0x2e || p[1] == 0x0f));
}

/* The bytes of the opcode before the operand at P, if it is that of a direct call or jump; else 0.
 */
static size_t direct_opcode(const unsigned char *p, size_t n)
{
	if (p[-1] == 0xe8 || p[-1] == 0xe9)
		return 1;
	return n >= 2 && p[-2] == 0x0f && (p[-1] & 0xf0) == 0x80 ? 2 : 0;
}

/* Count the operand that N bytes of code precede, as relative to its end and as absolute. */
static void look_at_x86(struct plumb_scan *scan, const struct plumb_block *block, size_t n)
{
	const unsigned char *p = block->bytes + n;
	uint64_t number = (int32_t)read_u32(p), target = block->address + n + 4 + number;
	struct plumb_callee *callee;
	size_t opcode;

	if (scan->machine == EM_386)
		target = (uint32_t)target;
	callee = plumb_scan_find(scan, target, PLUMB_MARK_CODE);
	opcode = callee ? direct_opcode(p, n) : 0;
	if (opcode)
		count_direct(scan, callee, plumb_scan_is_call(scan, block, n - opcode, opcode + 4));
	else if (callee && n >= 2 && p[-2] == 0x8d && (p[-1] & 0xc7) == 0x05)
		callee->taken++;
	callee = plumb_scan_find(scan, target, PLUMB_MARK_SLOT);
	if (callee && n >= 2 && p[-2] == 0xff && (p[-1] == 0x15 || p[-1] == 0x25))
		count_direct(scan, callee, true);
	else if (callee && n >= 2 && p[-2] == 0x8b && (p[-1] & 0xc7) == 0x05)
		callee->taken++;
	if (scan->machine == EM_386)
		number = (uint32_t)number;
	callee = plumb_scan_find(scan, number + scan->slide, PLUMB_MARK_CODE);
	if (callee && is_immediate(p, n))
		callee->taken++;
}

static void scan_x86(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
		     size_t size)
{
	const struct plumb_block block = {address, bytes, size};
	struct plumb_callee *callee;

	for (size_t i = 1; i + 4 <= size; i++) {
		look_at_x86(scan, &block, i);
		/* A short jump at the end of a function, to a neighbouring one. */
		if (bytes[i - 1] == 0xeb && is_padding(bytes + i + 1)) {
			callee = plumb_scan_find(scan, address + i + 1 + (int8_t)bytes[i],
						 PLUMB_MARK_CODE);
			if (callee)
				count_direct(scan, callee,
					     plumb_scan_is_call(scan, &block, i - 1, 2));
		}
	}
}

/* The start of the PLT entry with JUMP: the jump, or an endbr64 before it. */
static size_t find_entry(uint64_t address, const unsigned char *bytes, size_t jump)
{
	size_t behind = (address + jump) & 15;

	return behind <= jump && read_u32(bytes + jump - behind) == 0xfa1e0ff3 ? jump - behind
									       : jump;
}

/* A stub is jmp *slot(%rip), in entries of 8 bytes or in aligned entries of 16 bytes. */
static int mark_stubs_x86(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
			  size_t size)
{
	struct plumb_callee *callee;
	int err = 0;

	for (size_t i = 2; !err && i + 4 <= size; i++) {
		if (bytes[i - 2] != 0xff || bytes[i - 1] != 0x25)
			continue;
		callee = plumb_scan_find(scan, address + i + 4 + (int32_t)read_u32(bytes + i),
					 PLUMB_MARK_SLOT);
		if (callee)
			err = plumb_scan_mark(scan, address + find_entry(address, bytes, i - 2),
					      callee, PLUMB_MARK_CODE);
	}
	return err;
}

/* --- arm64 --- */

#define NEAR 8 /* instructions from an adrp to its add or ldr, at most */

/* Set PAGE and REG to what an adrp at ADDRESS sets; false: it is another instruction. */
static bool read_adrp(uint32_t code, uint64_t address, uint64_t *page, unsigned int *reg)
{
	uint64_t offset = (code >> 5 & 0x7ffff) << 2 | (code >> 29 & 3);

	if ((code & 0x9f000000) != 0x90000000)
		return false;
	*reg = code & 31;
	*page = (address & ~0xfffUL) + ((uint64_t)((int64_t)(offset << 43) >> 43) << 12);
	return true;
}

/* The address that CODE computes (add) or reads (ldr) with REG, which has the address PAGE. */
static bool read_low(uint32_t code, uint64_t page, unsigned int reg, uint64_t *address,
		     enum plumb_mark *mark)
{
	if ((code >> 5 & 31) != reg)
		return false;
	if ((code & 0xffc00000) == 0x91000000) { /* add */
		*mark = PLUMB_MARK_CODE;
		*address = page + (code >> 10 & 0xfff);
		return true;
	}
	if ((code & 0xffc00000) == 0xf9400000) { /* ldr */
		*mark = PLUMB_MARK_SLOT;
		*address = page + (code >> 10 & 0xfff) * 8;
		return true;
	}
	return false;
}

/* The callee whose address or slot the adrp at BYTES and a later instruction give; NULL: none. */
static struct plumb_callee *follow_adrp(const struct plumb_scan *scan, uint64_t address,
					const unsigned char *bytes, size_t size,
					enum plumb_mark *mark)
{
	uint64_t page, target;
	unsigned int reg;

	if (!read_adrp(read_u32(bytes), address, &page, &reg))
		return NULL;
	for (size_t i = 4; i <= 4 * NEAR && i + 4 <= size; i += 4)
		if (read_low(read_u32(bytes + i), page, reg, &target, mark))
			return plumb_scan_find(scan, target, *mark);
	return NULL;
}

static void scan_arm64(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
		       size_t size)
{
	struct plumb_callee *callee;
	enum plumb_mark mark;
	uint32_t code;

	for (size_t i = 0; i + 4 <= size; i += 4) {
		code = read_u32(bytes + i);
		if ((code & 0x7c000000) == 0x14000000) { /* b, bl */
			callee = plumb_scan_find(
				scan, address + i + ((int64_t)((uint64_t)code << 38) >> 36),
				PLUMB_MARK_CODE);
			if (callee)
				count_direct(scan, callee, true);
			continue;
		}
		callee = follow_adrp(scan, address + i, bytes + i, size - i, &mark);
		if (callee)
			callee->taken++;
	}
}

/* A stub is adrp x16, slot; ldr x17, [x16, slot]; perhaps after a bti. */
static int mark_stubs_arm64(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
			    size_t size)
{
	struct plumb_callee *callee;
	enum plumb_mark mark;
	int err = 0;

	for (size_t i = 0; !err && i + 4 <= size; i += 4) {
		callee = follow_adrp(scan, address + i, bytes + i, size - i, &mark);
		if (!callee || mark != PLUMB_MARK_SLOT)
			continue;
		err = plumb_scan_mark(scan, address + i, callee, PLUMB_MARK_CODE);
		if (!err && i >= 4 && read_u32(bytes + i - 4) == 0xd503245f)
			err = plumb_scan_mark(scan, address + i - 4, callee, PLUMB_MARK_CODE);
	}
	return err;
}

/* --- either --- */

void plumb_scan_code(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
		     size_t size)
{
	(scan->machine == EM_AARCH64 ? scan_arm64 : scan_x86)(scan, address, bytes, size);
}

int plumb_scan_stubs(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
		     size_t size)
{
	return (scan->machine == EM_AARCH64 ? mark_stubs_arm64 : mark_stubs_x86)(scan, address,
										 bytes, size);
}

void plumb_scan_data(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
		     size_t size)
{
	struct plumb_callee *callee;
	uint64_t word;

	for (size_t i = -address & 7; i + 8 <= size; i += 8) {
		memcpy(&word, bytes + i, sizeof(word));
		callee = word ? plumb_scan_find(scan, word + scan->slide, PLUMB_MARK_CODE) : NULL;
		if (callee)
			callee->taken++;
	}
}
