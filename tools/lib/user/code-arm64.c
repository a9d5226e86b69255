/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Instructions of arm64, each of four bytes. */
#if defined(__aarch64__)

#include <plumb/user/code.h>

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define REFUSED PLUMB_CODE_REFUSED
#define NOP     0xd503201f

static uint32_t instruction_at(const void *code, size_t at)
{
	uint32_t value;

	memcpy(&value, (const char *)code + at, sizeof(value));
	return le32toh(value);
}

/* The signed field of BITS bits from bit SHIFT on, a number of instructions, in bytes. */
static int64_t field(uint32_t in, int shift, int bits)
{
	return ((int64_t)((uint64_t)in << (64 - shift - bits)) >> (64 - bits)) * 4;
}

/*
 * Whether the instruction computes an address from an index, into REG: by adding it, or by loading
 * from a table.  Compilers put it right before the jump.
 */
static bool selects(uint32_t in, uint32_t reg)
{
	return (in & 31) == reg && ((in & 0xff200000) == 0x8b000000 || /* add x, x, x, lsl 2 */
				    (in & 0xffe00000) == 0x8b200000 || /* add x, x, w, sxtw 2 */
				    (in & 0xffe00c00) == 0xf8600800);  /* ldr x, [x, x, lsl 3] */
}

/* BEFORE: the instruction before it; 0: it is the first one. */
static void classify(struct plumb_instruction *to, uint32_t in, uint32_t before)
{
	if ((in & 0xfffffc1f) == 0xd65f0000 || (in & 0xfffffbff) == 0xd65f0bff) {
		to->kind = PLUMB_INSTRUCTION_RETURN; /* ret, retaa, retab */
	} else if ((in & 0xfffffc1f) == 0xd61f0000) {
		to->kind = selects(before, in >> 5 & 31) ? PLUMB_INSTRUCTION_JUMP_TABLE
							 : PLUMB_INSTRUCTION_JUMP_INDIRECT; /* br */
	} else if ((in & 0xfefff800) == 0xd61f0800) {
		to->kind = PLUMB_INSTRUCTION_JUMP_INDIRECT; /* braa */
	} else if ((in & 0x7c000000) == 0x14000000) {
		to->kind = in >> 31 ? PLUMB_INSTRUCTION_CALL : PLUMB_INSTRUCTION_JUMP;
		to->target = to->at + field(in, 0, 26);
	} else if ((in & 0xff000000) == 0x54000000 || (in & 0x7e000000) == 0x34000000) {
		to->kind = PLUMB_INSTRUCTION_JUMP; /* b.cond, cbz, cbnz */
		to->target = to->at + field(in, 5, 19);
	} else if ((in & 0x7e000000) == 0x36000000) {
		to->kind = PLUMB_INSTRUCTION_JUMP; /* tbz, tbnz */
		to->target = to->at + field(in, 5, 14);
	}
}

size_t plumb_code_visit(const void *code, size_t size, bool is_32bit,
			plumb_instruction_visitor *visit, void *context)
{
	struct plumb_instruction in;
	uint32_t value, before = 0;
	size_t at = 0;

	for (; size - at >= 4; at += 4) {
		in = (struct plumb_instruction){.at = at, .length = 4};
		value = instruction_at(code, at);
		classify(&in, value, before);
		before = value;
		if (!visit(&in, context))
			return at + 4;
	}
	return at;
}

/* nop, pacia1716 and others that sign, bti; those that check a signature could fault. */
static bool is_plain_hint(uint32_t hint)
{
	switch (hint) {
	case 0: /* nop */
	case 7: /* xpaclri */
	case 8: /* pacia1716 */
	case 10:
	case 24: /* paciaz */
	case 25:
	case 26:
	case 27:
	case 32: /* bti */
	case 34:
	case 36:
	case 38:
		return true;
	default:
		return false;
	}
}

/*
 * As arch/arm64/kernel/probes/decode-insn.c does.  Loads of vector registers relative to the
 * program counter are none to it, and are stepped elsewhere.
 */
const char *plumb_code_obstacle(const void *code, size_t size, bool is_32bit)
{
	uint32_t in = size >= 4 ? instruction_at(code, 0) : 0;

	if ((in & 0xff000000) == 0xd4000000 || (in & 0xfffff3ff) == 0xd69f03e0)
		return REFUSED " (exception)"; /* svc, hvc, smc, brk, hlt; eret, eretaa */
	if ((in & 0xfe9ff800) == 0xd61f0800)
		return REFUSED " (authenticated branch)"; /* retaa, braa, blraa */
	if ((in & 0xfffff01f) == 0xd503201f && !is_plain_hint(in >> 5 & 0x7f))
		return REFUSED " (hint)"; /* wfe, autiasp */
	if ((in & 0xfff00000) == 0xd5100000 || (in & 0xfff8f01f) == 0xd500401f)
		return REFUSED " (msr)";
	if ((in & 0xff000000) == 0xd8000000)
		return REFUSED " (prefetch)"; /* relative to the program counter */
	/* Kernels before 6.12 take it, and fail: they read the address as one of their own. */
	if ((in & 0x3f000000) == 0x18000000)
		return REFUSED " (load relative to the program counter)";
	if ((in & 0x3f000000) == 0x1c000000)
		return "its first instruction loads from an address relative to it, which is "
		       "another at a uprobe";
	if ((in & 0x3b200c00) == 0x19000400)
		return REFUSED " (memory copy or set)"; /* one of three that belong together */
	if ((in & 0x3f800000) == 0x08000000)
		return REFUSED " (exclusive access)";
	return NULL;
}

/* --- the return address, in x30 --- */

/* Whether it takes x30 for anything but to save it on the stack, or to return. */
static bool takes_return(uint32_t in)
{
	const uint32_t to = in & 31, from = in >> 5 & 31, second = in >> 10 & 31;
	const bool is_on_stack = from == 31 || from == 29;

	if ((in & 0x1e000000) == 0x0a000000) /* shifted registers: mov, add, eor */
		return from == 30 || (in >> 16 & 31) == 30;
	if ((in & 0x1f000000) == 0x11000000) /* add, sub of an immediate */
		return from == 30;
	if ((in & 0xfe400000) == 0xa8000000) /* stp */
		return !is_on_stack && (to == 30 || second == 30);
	if ((in & 0xffc00000) == 0xf9000000 || (in & 0xffe00000) == 0xf8000000) /* str */
		return !is_on_stack && to == 30;
	return in == 0xd50320ff || (in & 0xffdfffff) == 0xd61f03c0; /* xpaclri; br, blr x30 */
}

/* Until the first call, which puts another address into x30; a frame that is made has it, too. */
const char *plumb_code_return_obstacle(const void *code, size_t size, bool is_32bit)
{
	bool has_frame = false, is_own = true;
	uint32_t in;

	for (size_t at = 0; at + 4 <= size; at += 4) {
		in = instruction_at(code, at);
		if ((is_own && takes_return(in)) ||
		    (has_frame && (in & 0xffffffe0) == 0xf94007a0 && (in & 31) != 30))
			return PLUMB_CODE_USES_RETURN; /* ldr x0, [x29, #8] */
		/* stp x29, x30, [sp, #-16]!; mov x29, sp */
		has_frame |= in == 0x910003fd && at >= 4 &&
			     (instruction_at(code, at - 4) & 0xffc07fff) == 0xa9807bfd;
		is_own &= (in & 0xfc000000) != 0x94000000 && (in & 0xfffffc1f) != 0xd63f0000;
	}
	return NULL;
}

/* Kernels emulate it from 6.13 on. */
static bool steps_nops(void)
{
	struct utsname kernel;
	int major, minor;

	return !uname(&kernel) && sscanf(kernel.release, "%d.%d", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor < 13));
}

bool plumb_code_is_stepped(const void *code, size_t size, bool is_32bit)
{
	struct plumb_instruction in = {};
	uint32_t value = size >= 4 ? instruction_at(code, 0) : 0;

	classify(&in, value, 0);
	if (size >= 4 && value == NOP)
		return steps_nops();
	/* Others are emulated that take the program counter (adr, adrp, blr are no kinds). */
	return size >= 4 && in.kind == PLUMB_INSTRUCTION && (value & 0x1f000000) != 0x10000000 &&
	       (value & 0xfffffc1f) != 0xd63f0000;
}

size_t plumb_code_long_nop(const void *code, size_t size, bool is_32bit)
{
	return 0;
}

bool plumb_code_jumps_to(size_t target, const void *code, size_t size, bool is_32bit)
{
	return false;
}

#endif
