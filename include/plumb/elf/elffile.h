/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elffile: a program or library as an ELF file that uprobes can be set in. */
#ifndef PLUMB_ELFFILE_H
#define PLUMB_ELFFILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

struct plumb_elf {
	char *path; /* as it was given, or as it was found */
	int fd;
	Elf *elf;
};

/*
 * Opens a file by its path or name (binary.h).  0, or -errno after saying what is
 * wrong; to be closed in either case.
 */
int plumb_elf_open(const char *name, struct plumb_elf *file);
void plumb_elf_close(struct plumb_elf *file);

/* The offset in the file of what is loaded to ADDRESS, in a segment that has these FLAGS (PF_X). */
bool plumb_elf_offset(Elf *elf, uint64_t address, uint32_t flags, uint64_t *offset);

#endif
