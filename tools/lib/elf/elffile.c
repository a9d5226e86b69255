/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/elf/elffile.h>
#include <errno.h>
#include <fcntl.h>
#include <plumb/elf/binary.h>
#include <plumb/base/log.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel supports uprobes in 32-bit programs on x86_64, not on arm64. */
#if defined(__x86_64__)
#define MACHINE    EM_X86_64
#define MACHINE_32 EM_386
#else
#define MACHINE    EM_AARCH64
#define MACHINE_32 EM_AARCH64
#endif

bool plumb_elf_offset(Elf *elf, uint64_t address, uint32_t flags, uint64_t *offset)
{
	size_t n = 0;
	GElf_Phdr p;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(elf, i, &p); i++)
		if (p.p_type == PT_LOAD && (p.p_flags & flags) == flags && address >= p.p_vaddr &&
		    address - p.p_vaddr < p.p_filesz) {
			*offset = address - p.p_vaddr + p.p_offset;
			return true;
		}
	return false;
}

/* Checks that uprobes can be attached to the file.  Returns 0, or -errno after a message. */
static int check(Elf *elf, const char *path)
{
	GElf_Ehdr header;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return plumb_error(ENOEXEC, "%s is not a program or library (ELF)", path);
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
		return plumb_error(ENOEXEC, "%s is ELF, but not a program or library", path);
	if (header.e_machine != MACHINE && header.e_machine != MACHINE_32)
		return plumb_error(ENOEXEC, "%s is for another machine", path);
	return 0;
}

int plumb_elf_open(const char *name, struct plumb_elf *file)
{
	struct stat st;
	int err;

	*file = (struct plumb_elf){.fd = -1};
	err = plumb_binary_find(name, &file->path);
	if (err)
		return err;
	file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0)
		return plumb_error(errno, "cannot open %s: %s", file->path, strerror(errno));
	if (fstat(file->fd, &st) || !S_ISREG(st.st_mode))
		return plumb_error(EINVAL, "%s is not a file", file->path);
	elf_version(EV_CURRENT);
	file->elf = elf_begin(file->fd, ELF_C_READ, NULL);
	return check(file->elf, file->path);
}

void plumb_elf_close(struct plumb_elf *file)
{
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	*file = (struct plumb_elf){.fd = -1};
}
