/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * image: shared by its source files.  unpack.c decompresses a kernel file, image.c finds the parts
 * of the result, symbols.c reads the kernel's own symbol table, running.c reads the running
 * kernel.
 */
#pragma once

#include <gelf.h>
#include "image/image.h"

struct plumb_image_file {
	void *map; /* the mapped file; may be NULL */
	size_t map_size;
	unsigned char *bytes; /* ELF or Image: in MAP, or decompressed from it */
	size_t size;
	bool is_packed; /* BYTES were decompressed, and are malloc'd */
	Elf *elf;       /* NULL: an Image */
};

/* unpack.c: 0, or -errno after a message about PATH; then FILE is empty. */
int plumb_image_file_open(const char *path, struct plumb_image_file *file);
void plumb_image_file_close(struct plumb_image_file *file);

/*
 * symbols.c: find the kernel's symbol table in SPAN and return it as text in the form of
 * /proc/kallsyms, malloc'd.  NULL: there is none, or no memory.  *IS_RELATIVE: the symbols'
 * addresses are relative to SPAN's address, so they are wrong if that is.
 */
char *plumb_image_symbols(const struct plumb_span *span, bool *is_relative);

/* image.c: add a span unless it is empty. */
int plumb_image_add(struct plumb_image *image, struct plumb_span span);
