/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "files.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/debugfile.h>
#include <plumb/symbols/elffile.h>
#include <plumb/symbols/owners.h>

#include "rows.h"

#define VDSO_MAX (1 << 16) /* bytes */

/* Programs walk stacks of their own machine only. */
#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

struct segment {
	uint64_t offset, size, address;
};

struct unwind_file {
	dev_t device; /* with the next three: as of stat() */
	ino_t inode;
	off_t size;
	struct timespec changed;
	unsigned char build_id[PLUMB_BUILD_ID_MAX];
	size_t build_id_size;
	struct segment *segments; /* of code */
	size_t n_segments;
	uint64_t base;
	uint32_t first, n; /* its rows */
};

static struct unwind_file **files;
static size_t n_files;

/* The rows of all, in memory that programs have, too. */
static struct plumb_unwind_row *rows;
static size_t n_rows, room;
static bool is_full;
static uint64_t spent;

uint64_t unwind_files_spent(void)
{
	return spent;
}

bool unwind_files_are_full(void)
{
	return is_full;
}

void unwind_files_use(struct plumb_unwind_row *to, size_t n)
{
	rows = to;
	room = n;
	n_rows = 1; /* the first says that nothing is known */
}

/* Adds the rows of a file to those of all. */
static void add_rows(struct unwind_file *f, const struct unwind_rows *of)
{
	if (n_rows + of->n > room) {
		is_full = true;
		return;
	}
	memcpy(rows + n_rows, of->all, of->n * sizeof(*rows));
	f->base = of->base;
	f->first = n_rows;
	f->n = of->n;
	n_rows += of->n;
}

static void add_segments(struct unwind_file *f, Elf *elf)
{
	GElf_Phdr segment;
	size_t n;

	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, i, &segment) && segment.p_type == PT_LOAD &&
		    segment.p_flags & PF_X)
			*plumb_append(f->segments, f->n_segments) = (struct segment){
				segment.p_offset, segment.p_filesz, segment.p_vaddr};
}

/* A file of the same build has the same rows. */
static const struct unwind_file *same_build(const struct unwind_file *f)
{
	for (size_t i = 0; i < n_files; i++)
		if (f->build_id_size && files[i]->n &&
		    files[i]->build_id_size == f->build_id_size &&
		    !memcmp(files[i]->build_id, f->build_id, f->build_id_size))
			return files[i];
	return NULL;
}

/* The file of process PID at PATH has its .debug_frame elsewhere, if at all: opens its debug file.
 */
static int open_debug(Elf *elf, pid_t pid, const char *path, uid_t owner)
{
	char root[32];
	int dir, fd;

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = plumb_debug_open(elf, path, dir, owner);
	if (dir >= 0)
		close(dir);
	return fd;
}

static void read_elf(struct unwind_file *f, Elf *elf, pid_t pid, const char *path, uid_t owner)
{
	const struct unwind_file *known;
	struct unwind_rows of;
	GElf_Ehdr header;
	Elf *debug;
	int fd;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ||
	    header.e_machine != MACHINE)
		return;
	add_segments(f, elf);
	f->build_id_size = plumb_elf_build_id(elf, f->build_id);
	known = same_build(f);
	if (known) {
		f->base = known->base;
		f->first = known->first;
		f->n = known->n;
		return;
	}
	fd = open_debug(elf, pid, path, owner);
	debug = fd < 0 ? NULL : plumb_elf_begin(fd, ELF_C_READ);
	of = unwind_rows_of(elf, debug);
	is_full |= of.is_too_large;
	if (of.n)
		add_rows(f, &of);
	free(of.all);
	elf_end(debug);
	if (fd >= 0)
		close(fd);
}

static struct unwind_file *new_file(void)
{
	*plumb_append(files, n_files) = plumb_zeroed(1, sizeof(**files));
	return files[n_files - 1];
}

/* --- the vDSO, which is in memory only, and the same in all 64-bit processes --- */

static const struct unwind_file *vdso(const struct plumb_vma *area)
{
	static struct unwind_file *file;
	char *image = (char *)getauxval(AT_SYSINFO_EHDR);
	const uint64_t size = area->end - area->start;
	Elf *elf;

	if (file || !image || size > VDSO_MAX || area->start >> 32 == 0)
		return area->start >> 32 ? file : NULL;
	file = new_file();
	elf = elf_memory(image, size);
	read_elf(file, elf, 0, NULL, 0);
	elf_end(elf);
	return file;
}

/* --- files --- */

static const struct unwind_file *find(const struct stat *st)
{
	for (size_t i = 0; i < n_files; i++)
		if (files[i]->inode == st->st_ino && files[i]->device == st->st_dev &&
		    files[i]->size == st->st_size &&
		    files[i]->changed.tv_sec == st->st_ctim.tv_sec &&
		    files[i]->changed.tv_nsec == st->st_ctim.tv_nsec)
			return files[i];
	return NULL;
}

const struct unwind_file *unwind_file_of(pid_t pid, const struct plumb_vma *area, bool *later)
{
	const bool read = !*later;
	const struct unwind_file *known;
	struct unwind_file *f;
	uint64_t began;
	struct stat st;
	char why[128];
	Elf *elf;
	int fd;

	*later = false;
	if (!strcmp(area->path, "[vdso]"))
		return vdso(area);
	if (!area->inode || plumb_map_stat(pid, area, &st) || !S_ISREG(st.st_mode) ||
	    !plumb_owner_is_known(pid, st.st_uid, why, sizeof(why)))
		return NULL;
	known = find(&st);
	*later = !known && !read;
	if (known || *later)
		return known;
	f = new_file();
	f->device = st.st_dev;
	f->inode = st.st_ino;
	f->size = st.st_size;
	f->changed = st.st_ctim;
	fd = plumb_map_open(pid, area);
	if (fd < 0)
		return f;
	began = plumb_cpu_time();
	if (plumb_elf_is_whole(fd)) {
		elf = plumb_elf_begin(fd, ELF_C_READ);
		read_elf(f, elf, pid, area->path, st.st_uid);
		elf_end(elf);
	}
	close(fd);
	spent += plumb_cpu_time() - began;
	return f;
}

void unwind_file_area(const struct unwind_file *f, const struct plumb_vma *vma,
		      struct plumb_unwind_area *area)
{
	area->begin = vma->start;
	area->end = vma->end;
	for (size_t i = 0; i < f->n_segments; i++) {
		const struct segment *s = &f->segments[i];
		/* A segment is mapped from the beginning of its first page on. */
		const uint64_t from = s->offset & ~0xfffULL;

		if (vma->offset < from || vma->offset >= s->offset + s->size)
			continue;
		area->first = f->first;
		area->n = f->n;
		area->base = vma->start - vma->offset + s->offset - s->address + f->base;
	}
}
