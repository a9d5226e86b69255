/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "image/x86.h"

#include <endian.h>
#include <string.h>

struct cursor {
	const unsigned char *code;
	size_t at, size;
	bool failed;
};

static uint64_t take(struct cursor *c, size_t n)
{
	uint64_t value = 0;

	if (c->failed || n > c->size - c->at) {
		c->failed = true;
		return 0;
	}
	memcpy(&value, c->code + c->at, n);
	c->at += n;
	return le64toh(value);
}

static int64_t take_signed(struct cursor *c, size_t n)
{
	int shift = 64 - 8 * n;

	return n ? (int64_t)(take(c, n) << shift) >> shift : 0;
}

/* What follows an opcode. */
enum { NONE, BAD, MODRM = 2, IMM8 = 4, IMMZ = 8, REL8 = 16, REL32 = 32, IMM16 = 64, IMMV = 128 };

/* One-byte opcodes from 0x40 on; NONE if not listed. */
static const unsigned char forms_of_one[256] = {
	[0x60 ... 0x62] = BAD,
	[0x63] = MODRM,
	[0x68] = IMMZ,
	[0x69] = MODRM | IMMZ,
	[0x6a] = IMM8,
	[0x6b] = MODRM | IMM8,
	[0x70 ... 0x7f] = REL8,
	[0x80] = MODRM | IMM8,
	[0x81] = MODRM | IMMZ,
	[0x82] = BAD,
	[0x83] = MODRM | IMM8,
	[0x84 ... 0x8f] = MODRM,
	[0x9a] = BAD,
	[0xa0 ... 0xa3] = BAD,
	[0xa8] = IMM8,
	[0xa9] = IMMZ,
	[0xb0 ... 0xb7] = IMM8,
	[0xb8 ... 0xbf] = IMMV,
	[0xc0 ... 0xc1] = MODRM | IMM8,
	[0xc2] = IMM16,
	[0xc4 ... 0xc5] = BAD,
	[0xc6] = MODRM | IMM8,
	[0xc7] = MODRM | IMMZ,
	[0xc8] = BAD,
	[0xca] = IMM16,
	[0xcd] = IMM8,
	[0xd0 ... 0xd3] = MODRM,
	[0xd4 ... 0xd6] = BAD,
	[0xd8 ... 0xdf] = MODRM,
	[0xe0 ... 0xe3] = REL8,
	[0xe4 ... 0xe7] = IMM8,
	[0xe8 ... 0xe9] = REL32,
	[0xea] = BAD,
	[0xeb] = REL8,
	[0xf6 ... 0xf7] = MODRM, /* with an immediate if ModRM.reg is 0 or 1 */
	[0xfe ... 0xff] = MODRM,
};

static unsigned int form_of_one(unsigned int op)
{
	static const unsigned char low[8] = {MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ, BAD, BAD};

	return op < 0x40 ? low[op & 7] : forms_of_one[op];
}

/* Two-byte opcodes: after 0f. */
static unsigned int form_of_two(unsigned int op)
{
	switch (op) {
	case 0x05 ... 0x09:
	case 0x0b:
	case 0x0e:
	case 0x30 ... 0x37:
	case 0x77:
	case 0xa0 ... 0xa2:
	case 0xa8 ... 0xaa:
	case 0xc8 ... 0xcf:
		return NONE;
	case 0x80 ... 0x8f:
		return REL32;
	case 0x70 ... 0x73:
	case 0xa4:
	case 0xac:
	case 0xba:
	case 0xc2:
	case 0xc4 ... 0xc6:
		return MODRM | IMM8;
	default:
		return MODRM;
	}
}

static void take_memory(struct cursor *c, struct x86_instruction *in, unsigned int mod,
			unsigned int rm, unsigned int rex)
{
	unsigned int base = rm;

	in->has_memory = true;
	if (rm == 4)
		base = take(c, 1) & 7;
	in->base = base | (rex & 1) << 3;
	if (mod == 0 && base == 5) {
		in->base = rm == 4 ? X86_NO_BASE : X86_IP;
		mod = 2;
	}
	in->offset = take_signed(c, mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

static void take_prefixes(struct cursor *c, struct x86_instruction *in, unsigned int *rex)
{
	for (; c->at < c->size; c->at++) {
		switch (c->code[c->at]) {
		case 0x66:
			in->prefixes |= X86_SHORT;
			break;
		case 0xf2:
		case 0xf3:
			in->prefixes |= X86_REPEAT;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0xf0:
			break;
		case 0x40 ... 0x4f:
			*rex = c->code[c->at++];
			in->prefixes |= *rex & 8 ? X86_WIDE : 0;
			return;
		default:
			return;
		}
	}
}

static unsigned int take_opcode(struct cursor *c, struct x86_instruction *in)
{
	unsigned int op = take(c, 1);

	if (op != 0x0f) {
		in->opcode = op;
		return form_of_one(op);
	}
	op = take(c, 1);
	in->opcode = 0x0f00 | op;
	if (op != 0x38 && op != 0x3a)
		return form_of_two(op);
	in->opcode = op << 8 | take(c, 1);
	return op == 0x38 ? MODRM : MODRM | IMM8;
}

bool x86_decode(const unsigned char *code, size_t size, struct x86_instruction *in)
{
	struct cursor c = {.code = code, .size = size};
	unsigned int rex = 0, form, modrm;

	*in = (struct x86_instruction){};
	take_prefixes(&c, in, &rex);
	form = take_opcode(&c, in);
	if (form == BAD || c.failed)
		return false;
	if (form & MODRM) {
		modrm = take(&c, 1);
		in->has_modrm = true;
		in->reg = modrm >> 3 & 7;
		if (modrm >> 6 != 3)
			take_memory(&c, in, modrm >> 6, modrm & 7, rex);
		if ((in->opcode & ~1) == 0xf6 && in->reg < 2)
			form |= in->opcode == 0xf6 ? IMM8 : IMMZ;
	}
	in->has_immediate = form & (IMM8 | IMMZ | IMM16 | IMMV);
	in->has_relative = form & (REL8 | REL32);
	if (in->has_relative)
		in->offset = take_signed(&c, form & REL8 ? 1 : 4);
	if (in->has_immediate)
		in->immediate = take_signed(&c, form & IMM8                                ? 1
						: form & IMM16 || in->prefixes & X86_SHORT ? 2
						: form & IMMV && in->prefixes & X86_WIDE   ? 8
											   : 4);
	in->length = c.at;
	return !c.failed;
}
