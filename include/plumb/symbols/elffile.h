/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elffile: the ELF file of a program or library, for uprobes. */
#pragma once

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
/* The same of the file that FD, which stays the caller's, refers to; SHOWN is its path. */
int plumb_elf_open_fd(int fd, const char *shown, struct plumb_elf *file);
void plumb_elf_close(struct plumb_elf *file);

/*
 * elf_begin() of a file that anyone may have made: NULL also if it claims more sections or segments
 * than a program can have, for which libelf would take memory.
 */
Elf *plumb_elf_begin(int fd, Elf_Cmd command);

/* Whether the file has all that its header tells of; a file that is still being written may not. */
bool plumb_elf_is_whole(int fd);

/* The loaded segment with these FLAGS (PF_X) that has virtual ADDRESS; false: none. */
bool plumb_elf_segment(Elf *elf, uint64_t address, uint32_t flags, GElf_Phdr *segment);
/* The file offset of an address, the same way. */
bool plumb_elf_offset(Elf *elf, uint64_t address, uint32_t flags, uint64_t *offset);

/* Finds a section by name and reads its HEADER; NULL: there is none. */
Elf_Scn *plumb_elf_section(Elf *elf, const char *name, GElf_Shdr *header);

#define PLUMB_BUILD_ID_MAX 64

/* Whether the file is a Go program. */
bool plumb_elf_is_go(Elf *elf);
/* Whether it was built by Go 1.18 or later, for a CPU on which it passes values in registers. */
bool plumb_elf_has_go_registers(Elf *elf);

/*
 * Whether exceptions may leave functions of the file: of C++ or Rust, by the libraries that it
 * needs or, if it is static, the names of their personality routines.
 */
bool plumb_elf_unwinds(Elf *elf);

/*
 * Whether they may once the file runs, though it does not need such a library itself: it is a
 * library, or a program that loads others than the C library's.
 */
bool plumb_elf_may_unwind(Elf *elf);

/* Whether the path is that of a part of the C library, whose functions seldom call back. */
bool plumb_elf_is_c_library(const char *path);

/* Whether it calls a function of libc or Boost by which a thread goes on on another stack. */
bool plumb_elf_switches_stacks(Elf *elf);

/* Copies the build id to ID; returns its length, 0 if there is none. */
size_t plumb_elf_build_id(Elf *elf, unsigned char id[PLUMB_BUILD_ID_MAX]);
/* The same of notes (ELF_T_NHDR). */
size_t plumb_elf_build_id_in(Elf_Data *notes, unsigned char id[PLUMB_BUILD_ID_MAX]);
