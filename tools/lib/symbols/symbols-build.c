// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The file of a process that has ended, which is no longer at its path, by its build id. */
#include "symbols.h"
#include <string.h>
#include <unistd.h>

static struct plumb_symfile *find(struct plumb_symbolizer *s, const struct plumb_vma *vma)
{
	struct plumb_symfile *f = s->files;

	while (f && (f->build_id_size != vma->build_id_size ||
		     memcmp(f->build_id, vma->build_id, vma->build_id_size) ||
		     (f->st.st_uid && f->st.st_uid != geteuid())))
		f = f->next;
	return f;
}

static bool is_placed(const struct plumb_symfile *file)
{
	for (size_t i = 0; i < file->n_segments; i++)
		if (file->segments[i].is_code && file->segments[i].size)
			return true;
	return false;
}

/*
 * A debug file has the addresses of segments, but no longer where the file has their contents.  If
 * there is one of code, and all its pages are as many as those of VMA, these are the same.
 */
static void place(struct plumb_symfile *file, const struct plumb_vma *vma)
{
	const uint64_t page = sysconf(_SC_PAGESIZE) - 1;
	Elf *elf = plumb_elf_begin(file->fd, ELF_C_READ);
	GElf_Phdr p, code = {};
	size_t n = 0, of_code = 0;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(elf, i, &p); i++)
		if (p.p_type == PT_LOAD && p.p_flags & PF_X) {
			of_code++;
			code = p;
		}
	elf_end(elf);
	if (of_code == 1 &&
	    (((code.p_vaddr & page) + code.p_memsz + page) & ~page) == vma->end - vma->start) {
		file->segments[0] = (struct plumb_segment){vma->offset, vma->end - vma->start,
							   code.p_vaddr & ~page, true};
		file->n_segments = 1;
	}
}

struct plumb_symfile *plumb_symfile_of_build(struct plumb_symbolizer *s,
					     const struct plumb_vma *vma, int root)
{
	struct plumb_symfile *file;
	int fd;

	if (!vma->build_id_size)
		return NULL;
	file = find(s, vma);
	if (!file) {
		fd = plumb_debug_find_build(root, vma->build_id, vma->build_id_size);
		file = fd < 0 ? NULL : plumb_symfile_get(s, fd, vma->path, root);
	}
	if (file && !is_placed(file) && file->fd >= 0)
		place(file, vma);
	return file && is_placed(file) ? file : NULL;
}
