/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * image: what a kernel is made of: its types, its symbols and its code; of one
 * in a file, or of the running one.
 *
 * Files are what boots (x86: bzImage; arm64: Image, Image.gz and the EFI zboot
 * form) or vmlinux itself, of either machine whatever this one is.  What boots
 * has no symbol table: its symbols are those that the kernel keeps for
 * /proc/kallsyms.
 */
#ifndef PLUMB_IMAGE_H
#define PLUMB_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;

/* Bytes of the kernel that stay after boot, by the address that the symbols give them. */
struct plumb_span {
	uint64_t address;
	const unsigned char *bytes;
	size_t size;
	bool is_code;
};

struct plumb_image {
	char *path;      /* where the code is from */
	char *release;   /* "6.12.57+deb12-cloud-amd64"; NULL: it does not say */
	int machine;     /* EM_X86_64 or EM_AARCH64 */
	struct btf *btf; /* NULL: it has none, or none that libbpf can read */
	char *symbols;   /* lines as /proc/kallsyms has them, by address; NULL: none were found */
	struct plumb_span *spans; /* by address; none where code could not be read */
	size_t n_spans;
	uint64_t slide; /* what is to be added to an address that the bytes hold */
	bool has_data;  /* the spans are all of the kernel, and not its code only */
	unsigned char *build_id;
	size_t build_id_size;
	struct plumb_image_file *file; /* what spans point into */
};

/* A kernel in a file.  0, or -errno after saying what is wrong; IMAGE is empty then. */
int plumb_image_open(const char *path, struct plumb_image *image);

/*
 * The running kernel: its code is read from /proc/kcore, or where that is refused
 * from its file in /boot or /lib/modules, if it is there.  Types and symbols are
 * there without code, too: then there are no spans, and WHY_NO_CODE says why
 * ("" else).  0, or -errno after saying what is wrong.
 */
int plumb_image_open_running(struct plumb_image *image, char *why_no_code, size_t size);

void plumb_image_close(struct plumb_image *image);

/* The address of the first symbol of that name; 0: there is none. */
uint64_t plumb_image_address(const struct plumb_image *image, const char *name);

#endif
