/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * image: the types, symbols and code of a kernel, from a file or of the running one.
 *
 * A file is a boot image (x86: bzImage; arm64: Image, Image.gz and the EFI zboot form) or vmlinux,
 * of either architecture, whatever this machine's is.  A boot image has no ELF symbol table, so
 * symbols are read from the table that the kernel keeps for /proc/kallsyms.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/symbols/elffile.h>

struct btf;

/* Bytes of the kernel.  The address is the one that symbols use. */
struct plumb_span {
	uint64_t address;
	const unsigned char *bytes;
	size_t size;
	bool is_code;
	bool is_init;   /* freed after boot */
	uint64_t slide; /* to be added to an address that is stored in the bytes */
};

struct plumb_image {
	char *path;      /* file that the code was read from */
	char *release;   /* "6.12.57+deb12-cloud-amd64"; NULL: not found */
	int machine;     /* EM_X86_64 or EM_AARCH64 */
	struct btf *btf; /* NULL: there are none, or none that libbpf can read */
	char *symbols;   /* lines as in /proc/kallsyms, sorted by address; NULL: none were found */
	struct plumb_span *spans; /* none if the code could not be read */
	size_t n_spans;
	bool has_data; /* the spans include data, not only code */
	unsigned char build_id[PLUMB_BUILD_ID_MAX];
	size_t build_id_size;          /* 0: not found */
	struct plumb_image_file *file; /* owns the bytes of the spans */
	struct plumb_image *boot;      /* owns those of init spans, if FILE does not; may be NULL */
};

/* Read a kernel from a file.  0, or -errno after a message; then IMAGE is empty. */
int plumb_image_open(const char *path, struct plumb_image *image);

/*
 * Read the running kernel.  Its code is read from /proc/kcore or, if that fails, from the kernel's
 * file in /boot or /lib/modules.  If that fails, too, there are types and symbols but no spans, and
 * WHY_NO_CODE has the reason; otherwise it is "".  Init spans are always from the file.  0, or
 * -errno after a message.
 */
int plumb_image_open_running(struct plumb_image *image, char *why_no_code, size_t size);

void plumb_image_close(struct plumb_image *image);

/* The address of the first symbol with that name; 0: there is none. */
uint64_t plumb_image_address(const struct plumb_image *image, const char *name);

/* entry.c: the SIZE bytes of code at ADDRESS; NULL: the image does not have them. */
const unsigned char *entry_code(const struct plumb_image *image, uint64_t address, size_t size);
/* Whether a function has a call site of ftrace at its entry; false also without its code. */
bool entry_is_traceable(const struct plumb_image *image, uint64_t address);
