/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/symbols/binary.h>
#include <plumb/symbols/elffile.h>

/* The kernel supports uprobes in 32-bit programs on x86_64, not on arm64. */
#if defined(__x86_64__)
#define MACHINE    EM_X86_64
#define MACHINE_32 EM_386
#else
#define MACHINE    EM_AARCH64
#define MACHINE_32 EM_AARCH64
#endif

bool plumb_elf_segment(Elf *elf, uint64_t address, uint32_t flags, GElf_Phdr *p)
{
	size_t n = 0;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(elf, i, p); i++)
		if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags &&
		    address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
			return true;
	return false;
}

bool plumb_elf_offset(Elf *elf, uint64_t address, uint32_t flags, uint64_t *offset)
{
	GElf_Phdr p;

	if (!plumb_elf_segment(elf, address, flags, &p))
		return false;
	*offset = address - p.p_vaddr + p.p_offset;
	return true;
}

Elf_Scn *plumb_elf_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	const char *found;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		found = gelf_getshdr(section, header) ? elf_strptr(elf, names, header->sh_name)
						      : NULL;
		if (found && !strcmp(found, name))
			return section;
	}
	return NULL;
}

size_t plumb_elf_build_id_in(Elf_Data *data, unsigned char id[PLUMB_BUILD_ID_MAX])
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &desc)))
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz &&
		    note.n_descsz <= PLUMB_BUILD_ID_MAX &&
		    !memcmp((char *)data->d_buf + name, "GNU", 4)) {
			memcpy(id, (char *)data->d_buf + desc, note.n_descsz);
			return note.n_descsz;
		}
	return 0;
}

size_t plumb_elf_build_id(Elf *elf, unsigned char id[PLUMB_BUILD_ID_MAX])
{
	size_t n = 0, length = 0;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Phdr p;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; !length && i < n && gelf_getphdr(elf, i, &p); i++)
		if (p.p_type == PT_NOTE && p.p_filesz < 1 << 20)
			length = plumb_elf_build_id_in(
				elf_getdata_rawchunk(elf, p.p_offset, p.p_filesz,
						     p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
				id);
	/* A debug file has no contents for its segments. */
	while (!length && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
		    header.sh_size < 1 << 20)
			length = plumb_elf_build_id_in(elf_getdata(section, NULL), id);
	return length;
}

/*
 * Numbers that 16 bits cannot hold are in the header of the first section.  A sparse file can have
 * any number of sections, each of which takes libelf 200 bytes.
 */
#define COUNT_MAX (1 << 18)

static bool is_count(int fd, off_t at, size_t size)
{
	uint64_t count = 0;

	return pread(fd, &count, size, at) != (ssize_t)size || count <= COUNT_MAX;
}

static bool is_plausible_64(int fd)
{
	Elf64_Ehdr h;

	if (pread(fd, &h, sizeof(h), 0) != sizeof(h) || !h.e_shoff)
		return true;
	return (h.e_shnum || is_count(fd, h.e_shoff + offsetof(Elf64_Shdr, sh_size), 8)) &&
	       (h.e_phnum != PN_XNUM || is_count(fd, h.e_shoff + offsetof(Elf64_Shdr, sh_info), 4));
}

static bool is_plausible_32(int fd)
{
	Elf32_Ehdr h;

	if (pread(fd, &h, sizeof(h), 0) != sizeof(h) || !h.e_shoff)
		return true;
	return (h.e_shnum || is_count(fd, h.e_shoff + offsetof(Elf32_Shdr, sh_size), 4)) &&
	       (h.e_phnum != PN_XNUM || is_count(fd, h.e_shoff + offsetof(Elf32_Shdr, sh_info), 4));
}

Elf *plumb_elf_begin(int fd, Elf_Cmd command)
{
	unsigned char ident[EI_NIDENT] = {};

	if (pread(fd, ident, sizeof(ident), 0) != sizeof(ident))
		return NULL;
	/* No process maps programs of the other byte order. */
	if (!memcmp(ident, ELFMAG, SELFMAG) &&
	    (ident[EI_DATA] == ELFDATA2MSB ||
	     !(ident[EI_CLASS] == ELFCLASS32 ? is_plausible_32(fd) : is_plausible_64(fd))))
		return NULL;
	return elf_begin(fd, command, NULL);
}

bool plumb_elf_is_whole(int fd)
{
	bool whole = false;
	GElf_Phdr segment;
	GElf_Ehdr header;
	struct stat st;
	size_t n;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = plumb_elf_begin(fd, ELF_C_READ);
	if (elf && !fstat(fd, &st) && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
	    !elf_getshdrnum(elf, &n))
		whole = header.e_shoff + n * header.e_shentsize <= (uint64_t)st.st_size &&
			!elf_getphdrnum(elf, &n) && n;
	for (size_t i = 0; whole && i < n; i++)
		whole = gelf_getphdr(elf, i, &segment) &&
			segment.p_offset + segment.p_filesz <= (uint64_t)st.st_size;
	elf_end(elf);
	return whole;
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

/* Reads the headers of FILE, which has a path and a descriptor. */
static int begin(struct plumb_elf *file)
{
	struct stat st;

	if (fstat(file->fd, &st) || !S_ISREG(st.st_mode))
		return plumb_error(EINVAL, "%s is not a file", file->path);
	elf_version(EV_CURRENT);
	file->elf = plumb_elf_begin(file->fd, ELF_C_READ);
	return check(file->elf, file->path);
}

int plumb_elf_open(const char *name, struct plumb_elf *file)
{
	int err;

	*file = (struct plumb_elf){.fd = -1};
	err = plumb_binary_find(name, &file->path);
	if (err)
		return err;
	file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0)
		return plumb_error(errno, "cannot open %s: %s", file->path, strerror(errno));
	return begin(file);
}

int plumb_elf_open_fd(int fd, const char *shown, struct plumb_elf *file)
{
	*file = (struct plumb_elf){
		.path = strdup(shown),
		.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
	};
	return file->path && file->fd >= 0 ? begin(file) : -ENOMEM;
}

void plumb_elf_close(struct plumb_elf *file)
{
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	*file = (struct plumb_elf){.fd = -1};
}
