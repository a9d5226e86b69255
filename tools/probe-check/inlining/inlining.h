/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inlining: how many calls of a function were inlined, and how many are left.  A probe on the
 * function fires only for those that are left.
 *
 * Inlined calls are counted in debugging information (DWARF).  It is in the file itself, or in
 * another file that is found by build id under /usr/lib/debug or by .gnu_debuglink.  It is never
 * fetched from a network.  Calls that are left are counted in the machine code.
 *
 * On x86 the code is searched at every offset, since instruction boundaries are not known.  Rarely,
 * other bytes look like a call, or a short jump from a neighbouring function is missed.  On
 * Debian's 6.12 kernel the counts differ from those of objdump for 50 of 100,227 functions.  On
 * arm64, where instructions have a fixed size, nothing is mistaken.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_image;

struct plumb_callee {
	/* Given. */
	const char *name; /* as the symbol table has it: "foo", "foo.isra.0", "_ZN3foo3barEv" */
	/* 0: it has no symbol, or its calls are not to be counted */
	uint64_t address;

	/* Found in debugging information. */
	bool described; /* debugging information has the function; otherwise INLINED is not known */
	bool compiled;  /* it has code of its own, or a part of it does, perhaps without symbol */
	size_t inlined; /* calls of it, or of a part of it, that were inlined */

	/* Found in the code; all 0 without an address. */
	size_t direct; /* direct calls and jumps to its first byte, also from itself */
	size_t taken;  /* places in code and data that hold its address, for indirect calls */
	bool exported; /* to modules, or to other programs and libraries */
};

struct plumb_calls {
	bool has_debug_info; /* it was found */
	bool has_code;       /* otherwise DIRECT is not known */
	bool has_data;       /* otherwise TAKEN is not known */
	bool has_init; /* otherwise TAKEN lacks what init code and init data of a kernel hold */
};

/*
 * Count the calls of a kernel's functions, all in one pass.  ADDRESS is that of the image's symbol.
 * Init code does not run after boot, so its calls are not counted; but the addresses that it took
 * are called later: handlers that it registered.  0, or -errno after a message.
 */
int plumb_calls_in_kernel(const struct plumb_image *image, struct plumb_callee *callees, size_t n,
			  struct plumb_calls *calls);

/*
 * The same for functions of a program or library.  ADDRESS is st_value of the symbol.  Calls from
 * other files are not counted: see EXPORTED.
 */
int plumb_calls_in_file(const char *path, struct plumb_callee *callees, size_t n,
			struct plumb_calls *calls);

/* A function symbol of a program or library: NAME, or one that the compiler derived from it. */
struct plumb_part {
	char *name; /* "foo", "foo.part.0", "foo.cold" */
	uint64_t address;
	uint64_t size;
};

struct plumb_function_parts {
	struct plumb_part *all; /* sorted by address, without duplicates */
	size_t n;
};

/* Find the symbols of NAME in a file; none is no error.  0, or -errno after a message. */
int plumb_parts_find(const char *path, const char *name, struct plumb_function_parts *parts);
void plumb_parts_free(struct plumb_function_parts *parts);

/* The symbol of a function of C++ or Rust, which the caller frees; NULL: it has no such name. */
struct plumb_userfuncs;
char *plumb_parts_mangled(const struct plumb_userfuncs *function);
