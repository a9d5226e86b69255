/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * debuginfo: find the debugging information of a file on this machine.
 *
 * libdwfl is not used, since it also asks the servers that $DEBUGINFOD_URLS names.
 */
#include "image/file.h"
#include "inlining/code.h"
#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/symbols/debugfile.h>
#include <plumb/symbols/usersyms.h>

#define ROOT "/usr/lib/debug"

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

/* Take FD, unless it is -errno, if the file has debugging information. */
static void look_into(struct plumb_debuginfo *info, int fd)
{
	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	info->fd = fd;
	info->elf = plumb_elf_begin(fd, ELF_C_READ_MMAP_PRIVATE);
	info->dwarf = read_dwarf(info->elf);
	if (!info->dwarf)
		plumb_debuginfo_close(info);
}

/* Return whether NAME, in the folder of the file FD, is below ROOT; then PATH is where it is. */
static bool is_below_root(int fd, const char *name, char path[PATH_MAX])
{
	char all[2 * PATH_MAX] = "", file[64];

	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	if (*name != '/' && readlink(file, all, PATH_MAX - 1) < 0)
		return false;
	if (*name != '/')
		strrchr(all, '/')[1] = 0;
	strncat(all, name, PATH_MAX);
	return realpath(all, path) && !strncmp(path, ROOT "/", strlen(ROOT "/"));
}

/*
 * Open the file to which dwz moved what several files share with FD.  libdw would open any file
 * that is named; here it has to be below ROOT, or is found there by its build id.  Without it only
 * some inlined calls would be found: then none of it is used.
 */
static void share(struct plumb_debuginfo *info, int fd)
{
	const char *name;
	const void *id;
	ssize_t size = info->dwarf ? dwelf_dwarf_gnu_debugaltlink(info->dwarf, &name, &id) : 0;
	char path[PATH_MAX];

	if (!size)
		return;
	if (size > 0 && is_below_root(fd, name, path))
		info->shared_fd = plumb_debug_open_build(path, id, size);
	if (size > 0 && info->shared_fd < 0)
		info->shared_fd = plumb_debug_open_build(NULL, id, size);
	if (info->shared_fd >= 0)
		info->shared_elf = plumb_elf_begin(info->shared_fd, ELF_C_READ_MMAP_PRIVATE);
	info->shared = dwarf_begin_elf(info->shared_elf, DWARF_C_READ, NULL);
	if (info->shared)
		dwarf_setalt(info->dwarf, info->shared);
	else
		plumb_debuginfo_close(info);
}

void plumb_debuginfo_open(struct plumb_debuginfo *info, const struct plumb_elf *file)
{
	*info = (struct plumb_debuginfo){.fd = -1, .shared_fd = -1};
	info->dwarf = read_dwarf(file->elf);
	if (!info->dwarf)
		look_into(info, plumb_usersyms_open_debug(file));
	share(info, info->fd >= 0 ? info->fd : file->fd);
}

void plumb_debuginfo_open_kernel(struct plumb_debuginfo *info, const struct plumb_image *image)
{
	/* By its build id first; a file name does not prove that the build is the same. */
	static const char *const places[] = {NULL,
					     ROOT "/boot/vmlinux-%s",
					     ROOT "/lib/modules/%s/vmlinux",
					     ROOT "/lib/modules/%s/vmlinux.debug",
					     "/boot/vmlinux-%s",
					     "/lib/modules/%s/build/vmlinux"};
	char path[PATH_MAX];

	*info = (struct plumb_debuginfo){.fd = -1, .shared_fd = -1};
	if (image->file && image->file->elf && image->file->bytes)
		info->dwarf = read_dwarf(image->file->elf);
	for (size_t i = 0; !info->dwarf && i < sizeof(places) / sizeof(places[0]); i++) {
		if (places[i] && !image->release)
			break;
		if (places[i])
			snprintf(path, sizeof(path), places[i], image->release);
		look_into(info, plumb_debug_open_build(places[i] ? path : NULL, image->build_id,
						       image->build_id_size));
	}
	share(info, info->fd);
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
	*info = (struct plumb_debuginfo){.fd = -1, .shared_fd = -1};
}
