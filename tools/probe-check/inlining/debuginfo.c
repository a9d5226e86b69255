/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * debuginfo: find the debugging information of a file on this machine.
 *
 * libdwfl is not used, since it also asks the servers that $DEBUGINFOD_URLS names.
 */
#include "image/file.h"
#include "inlining/code.h"
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

const char *plumb_debuginfo_root = "/usr/lib/debug";

static Elf *open_elf(const char *path, int *fd)
{
	struct stat st;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0)
		return NULL;
	if (fstat(*fd, &st) || !S_ISREG(st.st_mode)) {
		close(*fd);
		*fd = -1;
		return NULL;
	}
	elf_version(EV_CURRENT);
	return elf_begin(*fd, ELF_C_READ_MMAP_PRIVATE, NULL);
}

/* NULL if there are no units: a file may have only tables about them. */
static Dwarf *read_dwarf(Elf *elf)
{
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	Dwarf_CU *unit = NULL;

	if (dwarf && !dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, NULL, NULL))
		return dwarf;
	dwarf_end(dwarf);
	return NULL;
}

static bool has_build_id(Elf *elf, const void *id, size_t size)
{
	const void *own;

	return dwelf_elf_gnu_build_id(elf, &own) == (ssize_t)size && !memcmp(own, id, size);
}

/* /usr/lib/debug/.build-id/ab/cdef.debug */
static void name_by_build_id(char *path, size_t room, const unsigned char *id, size_t size)
{
	size_t n = snprintf(path, room, "%s/.build-id/%02x/", plumb_debuginfo_root, id[0]);

	for (size_t i = 1; i < size && n + 16 < room; i++)
		n += snprintf(path + n, room - n, "%02x", id[i]);
	snprintf(path + n, room - n, ".debug");
}

/* Take PATH if CHECK accepts its ELF and it has debugging information. */
static bool try(struct plumb_debuginfo *info, const char *path,
		bool (*check)(Elf *elf, const void *what, size_t size), const void *what,
		size_t size)
{
	Elf *elf = open_elf(path, &info->fd);

	if (elf && check(elf, what, size))
		info->dwarf = read_dwarf(elf);
	if (info->dwarf) {
		info->elf = elf;
		info->path = strdup(path);
		return true;
	}
	elf_end(elf);
	if (info->fd >= 0)
		close(info->fd);
	info->fd = -1;
	return false;
}

static bool has_checksum(Elf *elf, const void *what, size_t size)
{
	size_t n = 0;
	const char *bytes = elf_rawfile(elf, &n);

	return size == sizeof(GElf_Word) && bytes &&
	       crc32_z(0, (const void *)bytes, n) == *(const GElf_Word *)what;
}

/*
 * Try the file that .gnu_debuglink names: in .debug/ beside the file, beside the file, or in the
 * same folder under /usr/lib/debug.
 */
static void try_link(struct plumb_debuginfo *info, Elf *elf, const char *path)
{
	GElf_Word checksum;
	const char *name = dwelf_elf_gnu_debuglink(elf, &checksum);
	char *real = realpath(path, NULL), *slash = real ? strrchr(real, '/') : NULL,
	     candidate[4096];
	const char *forms[] = {"%.0s%s/.debug/%s", "%.0s%s/%s", "%s%s/%s"};

	for (size_t i = 0; name && slash && *name && !strchr(name, '/') && i < 3; i++) {
		*slash = 0;
		snprintf(candidate, sizeof(candidate), forms[i], plumb_debuginfo_root, real, name);
		if (try(info, candidate, has_checksum, &checksum, sizeof(checksum)))
			break;
	}
	free(real);
}

static bool is_below(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return !strncmp(path, directory, n) && path[n] == '/';
}

/*
 * Open the file to which dwz moved what several files share.  libdw would open any file that is
 * named; here it has to be under plumb_debuginfo_root, or is found there by its build id.  False:
 * it is missing.
 */
static bool share(struct plumb_debuginfo *info)
{
	const char *name;
	const void *id;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(info->dwarf, &name, &id);
	char path[4096], *real, *slash = info->path ? strrchr(info->path, '/') : NULL;

	if (size <= 0 || size > 64)
		return !size;
	if (*name == '/' || !slash)
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - info->path), info->path,
			 name);
	real = realpath(path, NULL);
	if (!real || !is_below(real, plumb_debuginfo_root)) {
		name_by_build_id(path, sizeof(path), id, size);
		free(real);
		real = strdup(path);
	}
	info->shared_elf = real ? open_elf(real, &info->shared_fd) : NULL;
	free(real);
	if (!info->shared_elf || !has_build_id(info->shared_elf, id, size))
		return false;
	info->shared = dwarf_begin_elf(info->shared_elf, DWARF_C_READ, NULL);
	dwarf_setalt(info->dwarf, info->shared);
	return info->shared;
}

/* Without the shared file only some inlined calls would be found: use none of it. */
static void finish(struct plumb_debuginfo *info)
{
	if (info->dwarf && !share(info))
		plumb_debuginfo_close(info);
}

void plumb_debuginfo_open(struct plumb_debuginfo *info, Elf *elf, const char *path)
{
	char candidate[4096];
	const void *id;
	ssize_t size = dwelf_elf_gnu_build_id(elf, &id);

	*info = (struct plumb_debuginfo){.fd = -1, .shared_fd = -1};
	info->dwarf = read_dwarf(elf);
	if (info->dwarf)
		info->path = strdup(path);
	if (!info->dwarf && size > 1 && size <= 64) {
		name_by_build_id(candidate, sizeof(candidate), id, size);
		try(info, candidate, has_build_id, id, size);
	}
	if (!info->dwarf)
		try_link(info, elf, path);
	finish(info);
}

void plumb_debuginfo_open_kernel(struct plumb_debuginfo *info, const struct plumb_image *image)
{
	static const char *const places[] = {"%s/boot/vmlinux-%s", "%s/lib/modules/%s/vmlinux",
					     "%s/lib/modules/%s/vmlinux.debug",
					     "%.0s/boot/vmlinux-%s",
					     "%.0s/lib/modules/%s/build/vmlinux"};
	char path[4096];

	*info = (struct plumb_debuginfo){.fd = -1, .shared_fd = -1};
	if (image->file && image->file->elf && image->path && image->file->bytes)
		info->dwarf = read_dwarf(image->file->elf);
	if (info->dwarf)
		info->path = strdup(image->path);
	if (!info->dwarf && image->build_id_size > 1 && image->build_id_size <= 64) {
		name_by_build_id(path, sizeof(path), image->build_id, image->build_id_size);
		try(info, path, has_build_id, image->build_id, image->build_id_size);
	}
	/* A file name does not prove that the build is the same. */
	for (size_t i = 0; !info->dwarf && image->release && image->build_id_size &&
			   i < sizeof(places) / sizeof(places[0]);
	     i++) {
		snprintf(path, sizeof(path), places[i], plumb_debuginfo_root, image->release);
		try(info, path, has_build_id, image->build_id, image->build_id_size);
	}
	finish(info);
}

void plumb_debuginfo_close(struct plumb_debuginfo *info)
{
	dwarf_end(info->dwarf);
	dwarf_end(info->shared);
	elf_end(info->elf);
	elf_end(info->shared_elf);
	if (info->fd >= 0)
		close(info->fd);
	if (info->shared_fd >= 0)
		close(info->shared_fd);
	free(info->path);
	*info = (struct plumb_debuginfo){.fd = -1, .shared_fd = -1};
}
