/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * code: the instructions of a function.  On x86 capstone decodes them, of 64-bit and 32-bit code;
 * on arm64 each has four bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum plumb_instruction_kind {
	PLUMB_INSTRUCTION,               /* any other */
	PLUMB_INSTRUCTION_RETURN,        /* to the caller */
	PLUMB_INSTRUCTION_CALL,          /* direct: has a target */
	PLUMB_INSTRUCTION_JUMP,          /* direct, conditional or not: has a target */
	PLUMB_INSTRUCTION_JUMP_INDIRECT, /* to an address in a register or in memory */
	PLUMB_INSTRUCTION_JUMP_TABLE,    /* to an address in a table, selected by an index */
};

struct plumb_instruction {
	size_t at; /* bytes from the start of the code */
	size_t length;
	enum plumb_instruction_kind kind;
	int64_t target; /* bytes from the start of the code, which may be outside of it */
};

/* Returns whether to continue. */
typedef bool plumb_instruction_visitor(const struct plumb_instruction *in, void *context);

/*
 * Visits the instructions of CODE, from its first byte.  Returns the number of bytes decoded: less
 * than SIZE if the visitor stopped, or before the first instruction that cannot be decoded.
 */
size_t plumb_code_visit(const void *code, size_t size, bool is_32bit,
			plumb_instruction_visitor *visit, void *context);

/*
 * Why there can be no uprobe on the first instruction of CODE: kernels (5.10 to 6.18) refuse it, or
 * would damage the program by it.  A static text, or NULL: nothing is known to prevent it.
 */
#define PLUMB_CODE_REFUSED "the kernel refuses a uprobe on its first instruction"
const char *plumb_code_obstacle(const void *code, size_t size, bool is_32bit);

/*
 * The length of the first instruction of CODE, if it is a nop of x86_64 that is longer than a byte;
 * 0: it is not.
 */
size_t plumb_code_long_nop(const void *code, size_t size, bool is_32bit);

/* Whether CODE may jump to that byte of it: it does, or not all of it can be decoded. */
bool plumb_code_jumps_to(size_t target, const void *code, size_t size, bool is_32bit);

/*
 * Why a return probe on the function of this CODE would mislead it: it reads, pops or writes its
 * return address.  A static text, or NULL: nothing is seen that does.
 */
#define PLUMB_CODE_USES_RETURN "it depends on its return address, which a return probe replaces"
const char *plumb_code_return_obstacle(const void *code, size_t size, bool is_32bit);

/*
 * Whether at a uprobe the kernel single-steps the first instruction of CODE, which takes
 * microseconds on a virtual machine; others it emulates: on x86 nop, push, jumps and calls
 * (arch/x86/kernel/uprobes.c), on arm64 jumps, calls, returns, adr, and from 6.13 on nop
 * (arch/arm64/kernel/probes/decode-insn.c).
 */
bool plumb_code_is_stepped(const void *code, size_t size, bool is_32bit);
