/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* x86: decode code of x86 with capstone, whatever this machine's architecture is. */
#pragma once

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return whether to continue. */
typedef bool x86_visitor(const cs_insn *in, void *context);

/*
 * Visit the instructions of SIZE bytes of CODE, which is at ADDRESS.  False: one of them cannot be
 * decoded.
 */
bool x86_visit(const unsigned char *code, size_t size, uint64_t address, bool is_32bit,
	       x86_visitor *visit, void *context);

/* Return whether it is a direct call or jump; its only operand is the target. */
bool x86_is_direct(const cs_insn *in);
