/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usdt arguments: where a USDT probe has its arguments, from the text of its note.
 *
 * On x86-64 "-4@%edi 8@16(%rsp) 8@$42 4@-8(%rbp,%rax,4)", on arm64 "8@x0 -4@[sp, 12] 8@[x1,x2]":
 * the size in bytes, negative if the argument is signed, and an operand of the assembler.
 */
#pragma once

#include <stddef.h>
#include <plumb/bpf/user/usdt.h>

struct plumb_usdt_argument {
	struct plumb_usdt_arg arg; /* of kind PLUMB_USDT_NONE if it is refused */
	const char *refused;       /* a static text, "a floating-point number"; NULL: it is not */
	const char *type; /* "int32", "uint64", "float64", also if it is refused; NULL: not known */
	const char *text; /* in the note's text, not terminated */
	size_t length;
};

/*
 * Parses TEXT of a program of MACHINE (EM_X86_64, EM_AARCH64; arguments of all others are
 * refused).  Returns the number of arguments, or -E2BIG if there are more than PLUMB_USDT_ARGS.
 */
int plumb_usdt_arguments(const char *text, int machine,
			 struct plumb_usdt_argument list[PLUMB_USDT_ARGS]);
