/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * userfuncs: the functions of a program or library that match a name or a glob, as uprobe targets:
 * a file and an offset in it.
 *
 * TARGET is "FILE:FUNCTION[@VERSION][+OFFSET]", cut at its first colon.
 *
 * FILE is a path, a library's name or a program's (binary.h).
 *
 * FUNCTION is a name or a glob.  Names of C++ and Rust match as in the symbol table, demangled
 * ("ns::Class::method"), and demangled with parameters ("ns::Class::method(int)").
 *
 * VERSION is that of the symbol, a name or a glob; "@@" is accepted for "@".  Without one all
 * versions match, which may be several functions.
 *
 * OFFSET is a number of bytes, decimal or hexadecimal ("0x10"), at which an instruction begins.
 *
 * Symbols are those of .symtab and .dynsym; without .symtab also those of the debug file and of
 * .gnu_debugdata (debugfile.h); without section headers those of the dynamic segment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A location of a USDT probe or inlined function in the code; it may have several. */
struct plumb_usdt_place {
	uint64_t offset;    /* in the file, for a uprobe */
	uint64_t semaphore; /* file offset of the counter that enables the probe; 0: none */
	char *arguments;    /* of a USDT probe: "-4@%edi 8@%rsi", or "" */
	int machine;        /* whose registers these are: EM_X86_64, EM_AARCH64, ... */
};

struct plumb_userfunc {
	/*
	 * For people: demangled, without parameters and version, unless another function found has
	 * the same name then; as in TARGET if that is the symbol's name; with "+0x10" for an
	 * offset.
	 */
	char *name;
	char *aliases; /* further names of the function, "a, b"; NULL: none */
	/*
	 * In the file, of the function's first byte, after its endbr64, after a nop that must not
	 * be probed, of the byte at OFFSET; in a Go program, after its stack check, which runs
	 * again when the stack has grown.
	 */
	uint64_t offset;
	bool is_inside;  /* at OFFSET */
	bool is_stepped; /* the kernel single-steps the instruction at a place of it (code.h) */
	bool is_called;  /* the kernel replaces the nop there by a call, not by a breakpoint */
	uint64_t size;   /* bytes from there to the function's end; 0: unknown */
	/* Static texts that follow "NAME: "; NULL: none is known. */
	const char *obstacle;        /* why the kernel refuses a uprobe here */
	const char *return_obstacle; /* why there is no return to be probed */
	const char *return_caveat;   /* what a return probe does to the program */
	bool is_unwanted;            /* plumb_userfuncs_drop() removes it */
	/* Of Go programs, where a uretprobe crashes the process, and on request: file offsets of
	 * the return instructions. */
	uint64_t *returns;
	size_t n_returns;
	/* Of a USDT probe, whose name is "PROVIDER:NAME": where it is, instead of `offset`. */
	struct plumb_usdt_place *places;
	size_t n_places;
};

struct plumb_userfuncs {
	char *path;        /* as given, or as found by plumb_binary_find() */
	const char *shown; /* what is said instead of /proc/self/fd/N; NULL: the path */
	struct plumb_userfunc *list;
	size_t n;
	bool is_32bit;         /* arguments are on the stack */
	bool is_go;            /* a Go program: probe `returns`, do not use uretprobes */
	bool has_go_registers; /* of Go 1.18 or later: arguments and goroutine are in registers */
	bool is_usdt;          /* not functions: USDT probes (usdt.h) */
};

/*
 * Sorted by ascending offset, each offset once; if a glob matches several names of a function, the
 * shortest is used.  Functions whose implementation the dynamic linker selects at run time
 * (STT_GNU_IFUNC, such as memcpy) are omitted, because their symbol is the resolver's.  Functions
 * that are older versions of such a name are omitted too, unless VERSION selects them.  Returns 0
 * with at least one, or -errno after a message with suggestions; FOUND is empty then.
 */
int plumb_userfuncs_find(const char *target, struct plumb_userfuncs *found);

/*
 * Calls EACH with all names by which symbols know where the functions of U are: of each symbol
 * there, or around it, as in the table, with its version after "@" and "@@", and demangled, with
 * parameters and without.  Returns 0, what EACH returned other than that, which ends it, or -errno
 * after a message.
 */
int plumb_userfuncs_spell(const struct plumb_userfuncs *u,
			  int (*each)(const char *name, void *context), void *context);

/*
 * The same of the open file FD, with FUNCTION only; SHOWN is its path, for messages.  RETURNS: also
 * find `returns`, or the obstacle to that.
 */
int plumb_userfuncs_find_in(int fd, const char *shown, const char *function, bool returns,
			    struct plumb_userfuncs *found);

/*
 * Finds, by their instructions in the file FD, functions that a return probe would mislead: sets
 * `return_obstacle`.
 */
void plumb_userfuncs_check_returns(int fd, struct plumb_userfuncs *found);

struct plumb_inlined {
	bool known;  /* the file or its debug file has debugging information (DWARF) */
	size_t lost; /* inlined calls that begin at no place of their own */
};

/*
 * Finds where functions that match FUNCTION were inlined in the open file FD, whose path is SHOWN,
 * by debugging information: `offset` is where an inlined call begins, `size` is 0, and there is no
 * return.  FOUND may be empty.  Returns 0, or -errno after a message.
 */
int plumb_userfuncs_inlined(int fd, const char *shown, const char *function,
			    struct plumb_userfuncs *found, struct plumb_inlined *facts);
/* Removes those that are unwanted. */
void plumb_userfuncs_drop(struct plumb_userfuncs *found);
void plumb_userfuncs_free(struct plumb_userfuncs *found);
void plumb_userfunc_free(struct plumb_userfunc *function);
