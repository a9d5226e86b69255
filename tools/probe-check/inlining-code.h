/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inlining: what its parts share.  inlining.c knows of kernels and files, scan.c counts calls in
 * code, debuginfo.c finds debugging information, inlined.c counts in it.
 */
#ifndef INLINING_CODE_H
#define INLINING_CODE_H

#include <elfutils/libdw.h>
#include "inlining.h"

/* What an address that code may refer to stands for. */
enum plumb_mark {
	PLUMB_MARK_CODE, /* the function's first byte, or a stub that jumps there */
	PLUMB_MARK_SLOT, /* a word that holds its address once the file is loaded */
};

struct plumb_scan {
	struct plumb_callee *callees;
	size_t n;
	int machine;
	uint64_t slide; /* what is to be added to an address that the bytes hold */
	/* Open hash of what is looked for. */
	struct plumb_marked {
		uint64_t address; /* 0: an empty slot */
		struct plumb_callee *callee;
		enum plumb_mark mark;
	} * marked;
	size_t n_marked, mask;
};

/* scan: 0 or -ENOMEM. */
int plumb_scan_begin(struct plumb_scan *scan, int machine, struct plumb_callee *callees, size_t n);
int plumb_scan_mark(struct plumb_scan *scan, uint64_t address, struct plumb_callee *callee,
		    enum plumb_mark mark);
/* NULL: it is not marked so. */
struct plumb_callee *plumb_scan_find(const struct plumb_scan *scan, uint64_t address,
				     enum plumb_mark mark);
void plumb_scan_code(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
		     size_t size);
/* Marks the stubs of a PLT, whose slots are marked. */
int plumb_scan_stubs(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
		     size_t size);
/* Words of 8 bytes that hold an address. */
void plumb_scan_data(struct plumb_scan *scan, uint64_t address, const unsigned char *bytes,
		     size_t size);
/* Functions of one address have the same results; then the scan is empty. */
void plumb_scan_end(struct plumb_scan *scan);

/* debuginfo: opened, to be closed in any case. */
struct plumb_debuginfo {
	Dwarf *dwarf; /* NULL: there is none */
	char *path;
	Elf *elf;
	int fd;
	Dwarf *shared; /* what dwz moved to a file of its own */
	Elf *shared_elf;
	int shared_fd;
};

/* Where those of a distribution are: /usr/lib/debug; or where a test keeps its own. */
extern const char *plumb_debuginfo_root;

/* Of ELF, which is the file PATH. */
void plumb_debuginfo_open(struct plumb_debuginfo *info, Elf *elf, const char *path);
struct plumb_image;
void plumb_debuginfo_open_kernel(struct plumb_debuginfo *info, const struct plumb_image *image);
void plumb_debuginfo_close(struct plumb_debuginfo *info);

/*
 * inlined: addresses in DWARF are BIAS less than those of the callees; SHARED may be NULL.
 * 0, -ENOMEM or -EBADMSG.
 */
int plumb_inlined_count(Dwarf *dwarf, Dwarf *shared, uint64_t bias, struct plumb_callee *callees,
			size_t n);

#endif
