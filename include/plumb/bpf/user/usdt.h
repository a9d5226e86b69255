/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* usdt: where a USDT probe has an argument, as its loader tells a program. */
#pragma once

#include <plumb/bpf/core/types.h>

/* sys/sdt.h has macros for up to 12. */
#define PLUMB_USDT_ARGS 12

#define PLUMB_USDT_NO_REGISTER 0xffff

enum {
	PLUMB_USDT_NONE, /* no argument, or one that is refused */
	PLUMB_USDT_CONSTANT,
	PLUMB_USDT_REGISTER,
	PLUMB_USDT_MEMORY,
};

enum { PLUMB_USDT_UXTW = 1, PLUMB_USDT_SXTW };

struct plumb_usdt_arg {
	__s64 value;       /* a constant, or the displacement of memory */
	__u16 base, index; /* registers: offsets in struct pt_regs, or PLUMB_USDT_NO_REGISTER */
	__u8 kind;
	__u8 shift;  /* bits: of memory, the index to the left; of a register, to the right (%ah) */
	__s8 size;   /* bytes: 1, 2, 4 or 8; negative if the argument is signed */
	__u8 extend; /* of memory: 4 bytes of the index are used, with or without sign */
};
_Static_assert(sizeof(struct plumb_usdt_arg) == 16, "no hidden padding");
