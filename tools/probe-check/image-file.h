/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * image: what its parts share.  unpack.c makes of a file what the kernel is when it
 * runs, image.c finds its parts in that, image-symbols.c reads the kernel's own
 * table of symbols, image-running.c looks at the kernel that runs.
 */
#ifndef IMAGE_FILE_H
#define IMAGE_FILE_H

#include <gelf.h>
#include "image.h"

struct plumb_image_file {
	void *map; /* of the file; may be NULL */
	size_t map_size;
	unsigned char *bytes; /* ELF or Image: in the map, or what was packed in it */
	size_t size;
	bool is_packed; /* BYTES are malloc'd */
	Elf *elf;       /* NULL: an Image */
};

/* unpack: 0, or -errno after saying what is wrong with PATH; then FILE is empty. */
int plumb_image_file_open(const char *path, struct plumb_image_file *file);
void plumb_image_file_close(struct plumb_image_file *file);
bool plumb_image_is_arm64(const struct plumb_image_file *file);

/*
 * image-symbols: the table of /proc/kallsyms, as the kernel keeps it somewhere in SPAN; as
 * text.  NULL: there is none, or no memory.  *IS_RELATIVE: the addresses depend on
 * SPAN's only, so that they are as wrong as it is.
 */
char *plumb_image_symbols(const struct plumb_span *span, bool *is_relative);

/* image: adds a span; takes the build id from notes, if it is there. */
int plumb_image_add(struct plumb_image *image, uint64_t address, const void *bytes, size_t size,
		    bool is_code);
void plumb_image_take_build_id(struct plumb_image *image, Elf_Data *notes);

#endif
