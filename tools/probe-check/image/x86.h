/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* x86: decode an instruction of 64-bit code, mostly without the registers that it uses. */
#ifndef X86_H
#define X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct x86_instruction {
	size_t length;
	uint16_t opcode;  /* 0x0f.. is one of two bytes, 0x38.. and 0x3a.. of three */
	uint8_t prefixes; /* X86_ below */
	bool has_modrm, has_memory, has_immediate, has_relative;
	uint8_t reg;    /* of ModRM; in some opcodes an extension of the opcode */
	uint8_t base;   /* of the memory operand */
	int64_t offset; /* displacement of the memory operand, or of a jump or call from its end */
	int64_t immediate;
};

enum { X86_WIDE = 1, X86_SHORT = 2, X86_REPEAT = 4 }; /* REX.W; 66; f2 or f3 */
enum { X86_SP = 4, X86_IP = 32, X86_NO_BASE = 33 };   /* values of BASE */

/* False: no instruction, one that kernels hardly use (vectors), or one beyond SIZE bytes. */
bool x86_decode(const unsigned char *code, size_t size, struct x86_instruction *in);

#endif
