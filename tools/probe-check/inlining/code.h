/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inlining: shared by its source files.  inlining.c reads kernels and ELF files, scan.c counts
 * calls in machine code, boundaries.c decodes it, debuginfo.c finds debugging information,
 * inlined.c counts inlined calls in it.
 */
#pragma once

#include <elfutils/libdw.h>
#include "inlining/inlining.h"

/* What is at a marked address. */
enum plumb_mark {
	PLUMB_MARK_CODE, /* the function's first byte, or a stub that jumps there */
	PLUMB_MARK_SLOT, /* a word that holds the function's address once the file is loaded */
};

struct plumb_scan {
	struct plumb_callee *callees;
	size_t n;
	int machine;
	uint64_t slide; /* to be added to an address that is stored in the bytes */
	bool is_init;   /* what is scanned ran at boot: only addresses that it took matter */
	/* Hash table of marked addresses, with open addressing. */
	struct plumb_marked {
		uint64_t address; /* 0: empty */
		struct plumb_callee *callee;
		enum plumb_mark mark;
	} * marked;
	size_t n_marked, mask;
	uint64_t *starts; /* of functions, if symbols are known */
	size_t n_starts;
	uint64_t boundary; /* where an instruction begins: the last that was decoded */
};

/* Code at an address. */
struct plumb_block {
	uint64_t address;
	const unsigned char *bytes;
	size_t size;
};

/*
 * boundaries: functions begin at these addresses.  LENGTH bytes of code, AT bytes in the block,
 * look like a direct call or jump; returns false if decoding their function shows another
 * instruction.
 */
int plumb_scan_start(struct plumb_scan *scan, uint64_t address); /* 0 or -ENOMEM */
void plumb_scan_sort_starts(struct plumb_scan *scan);
bool plumb_scan_is_call(struct plumb_scan *scan, const struct plumb_block *block, size_t at,
			size_t length);

/* scan: 0 or -ENOMEM. */
int plumb_scan_begin(struct plumb_scan *scan, int machine, struct plumb_callee *callees, size_t n);
int plumb_scan_mark(struct plumb_scan *scan, uint64_t address, struct plumb_callee *callee,
		    enum plumb_mark mark);
/* NULL: the address has no such mark. */
struct plumb_callee *plumb_scan_find(const struct plumb_scan *scan, uint64_t address,
				     enum plumb_mark mark);
void plumb_scan_code(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
		     size_t size);
/* Mark the PLT stubs whose slots are marked. */
int plumb_scan_stubs(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
		     size_t size);
/* Count aligned 8-byte words that hold the address of a callee. */
void plumb_scan_data(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
		     size_t size);
/* Copy the results to callees that share an address, and empty the scan. */
void plumb_scan_end(struct plumb_scan *scan);

/* debuginfo.c: to be closed after each open, even if nothing was found. */
struct plumb_debuginfo {
	Dwarf *dwarf;          /* NULL: none was found */
	Dwarf *shared;         /* what dwz moved to a separate file; may be NULL */
	Elf *elf, *shared_elf; /* of files that were opened for them */
	int fd, shared_fd;
};

struct plumb_elf;
void plumb_debuginfo_open(struct plumb_debuginfo *info, const struct plumb_elf *file);
struct plumb_image;
void plumb_debuginfo_open_kernel(struct plumb_debuginfo *info, const struct plumb_image *image);
void plumb_debuginfo_close(struct plumb_debuginfo *info);

/*
 * inlined.c: count inlined calls of the callees.  An address in DWARF plus BIAS is a callee's
 * address.  SHARED may be NULL.  0, -ENOMEM or -EBADMSG.
 */
int plumb_inlined_count(Dwarf *dwarf, Dwarf *shared, uint64_t bias, struct plumb_callee *callees,
			size_t n);
