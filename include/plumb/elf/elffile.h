/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elffile: the ELF file of a program or library, for uprobes. */
#ifndef PLUMB_ELFFILE_H
#define PLUMB_ELFFILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

struct plumb_elf {
	char *path; /* as given, or as found by plumb_binary_find() */
	int fd;
	Elf *elf;
};

/*
 * Opens a file by its path or name (binary.h).  Returns 0, or -errno after a message; the caller
 * calls plumb_elf_close() in both cases.
 */
int plumb_elf_open(const char *name, struct plumb_elf *file);
void plumb_elf_close(struct plumb_elf *file);

/* The file offset of virtual ADDRESS, in a loaded segment with these FLAGS (PF_X); false: none. */
bool plumb_elf_offset(Elf *elf, uint64_t address, uint32_t flags, uint64_t *offset);

#endif
