/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inlining: what became of the calls of a function: a probe on it sees those that
 * are still calls, and none where the compiler put its body in their place.
 *
 * Debugging information tells which were inlined, if there is some: in the file
 * itself, or in another by its build id or .gnu_debuglink under /usr/lib/debug.
 * It is never fetched from a network.  What remains is counted in the code.
 *
 * On x86 the code is searched for bytes that are such a call, at every offset, as
 * nothing tells where instructions begin: now and then other bytes look like one, or a
 * short jump from a neighbour is missed.  On Debian's 6.12 kernel what is counted differs
 * from what objdump shows for 50 of 100,227 functions.  On arm64 nothing is mistaken.
 */
#ifndef PLUMB_INLINING_H
#define PLUMB_INLINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_image;

struct plumb_callee {
	/* Given. */
	const char *name; /* as the symbol table has it: "foo", "foo.isra.0", "_ZN3foo3barEv" */
	/* 0: it has no code of its own, that is no symbol. */
	uint64_t address;

	/* Found.  First what only debugging information tells. */
	bool described; /* by debugging information: else INLINED says nothing */
	bool compiled;  /* that has code of its own for it, or a part of it, be it without symbol */
	size_t inlined; /* places where its body, or a part of it, stands in another function's */

	/* What the code tells: all 0 without an address. */
	size_t direct; /* direct calls and jumps to its first byte, its own included */
	size_t taken;  /* places in code and data that hold its address, for calls by pointer */
	bool exported; /* to modules, or to other programs and libraries */
};

struct plumb_calls {
	char *debug_info; /* the file whose debugging information was read; NULL: there is none */
	bool has_code;    /* else DIRECT is not known */
	bool has_data;    /* else TAKEN is not known */
};

/*
 * Of a kernel's functions, all in one pass; addresses are those of the image's
 * symbols.  Code that is for boot only is not looked at: its calls are over.
 * 0, or -errno after saying what is wrong.
 */
int plumb_calls_in_kernel(const struct plumb_image *image, struct plumb_callee *callees, size_t n,
			  struct plumb_calls *calls);

/*
 * Of functions of a program or library, with ADDRESS as the symbol table has it
 * (st_value).  Calls from other files are not seen: see EXPORTED.
 */
int plumb_calls_in_file(const char *path, struct plumb_callee *callees, size_t n,
			struct plumb_calls *calls);

void plumb_calls_free(struct plumb_calls *calls);

/* A symbol of a program or library that is a function NAME, or was made of it. */
struct plumb_part {
	char *name; /* "foo", "foo.part.0", "foo.cold" */
	uint64_t address;
	uint64_t size;
	uint64_t offset; /* in the file, as struct plumb_userfunc has it */
};

struct plumb_function_parts {
	struct plumb_part *all; /* by address, each symbol once */
	size_t n;
};

/* Those of the file; none is no error.  0, or -errno after saying what is wrong. */
int plumb_parts_find(const char *path, const char *name, struct plumb_function_parts *parts);
void plumb_parts_free(struct plumb_function_parts *parts);

#endif
