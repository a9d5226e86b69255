/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * go-table: the functions of a program of Go, as its own table has them (.gopclntab), which is
 * there in stripped programs, too: Go's runtime walks stacks by it.  Its form is that of Go 1.18
 * and later (src/runtime/symtab.go).  Whatever the file contains, nothing outside of the table is
 * read.
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_go_table {
	const uint8_t *data; /* of the file; as long as that is open */
	size_t size;
	uint64_t text;                  /* the address from which those of functions count */
	size_t n;                       /* functions */
	uint64_t names, pcs, functions; /* offsets of parts of the table */
	uint8_t quantum;
	bool has_lines; /* a function has the number of its first line (1.20) */
};

enum {
	PLUMB_GO_TOP = 1 /* there is no caller */,
	PLUMB_GO_SP = 2 /* it writes the stack pointer */
};

struct plumb_go_function {
	uint64_t begin, end; /* addresses */
	const char *name;    /* of the table */
	uint8_t flags;
	uint32_t frames; /* for struct plumb_go_frame */
};

/* False: the file has none that is understood. */
bool plumb_go_table(Elf *elf, struct plumb_go_table *t);
/* Function I, of which there are T->n, in the order of addresses; false: it is damaged. */
bool plumb_go_function(const struct plumb_go_table *t, size_t i, struct plumb_go_function *f);

/* From an address on, up to the next one, a frame has SIZE bytes below the return address. */
struct plumb_go_frame {
	uint64_t begin, end;
	int64_t size;
	size_t at; /* in the table */
};

/* The first of F's, and the next; false: there is none. */
bool plumb_go_first(const struct plumb_go_table *t, const struct plumb_go_function *f,
		    struct plumb_go_frame *frame);
bool plumb_go_next(const struct plumb_go_table *t, struct plumb_go_frame *frame);
