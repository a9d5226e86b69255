/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "image-file.h"
#include <errno.h>
#include <gelf.h>
#include <plumb/base/log.h>
#include <plumb/kernel/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

int plumb_image_add(struct plumb_image *image, uint64_t address, const void *bytes, size_t size,
		    bool is_code)
{
	struct plumb_span *more;

	if (!bytes || !size || address + size < address)
		return 0;
	more = realloc(image->spans, (image->n_spans + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	image->spans = more;
	image->spans[image->n_spans++] = (struct plumb_span){address, bytes, size, is_code};
	return 0;
}

/* Return whether a section is freed after boot, or read by tools only. */
static bool is_gone(const char *section)
{
	static const char *const prefixes[] = {".init", ".exit", ".altinstr", "__init", ".BTF"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(section, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

void plumb_image_take_build_id(struct plumb_image *image, Elf_Data *data)
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (!image->build_id && (at = gelf_getnote(data, at, &note, &name, &desc)))
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz &&
		    !memcmp((char *)data->d_buf + name, "GNU", 4)) {
			image->build_id = malloc(note.n_descsz);
			if (!image->build_id)
				return;
			image->build_id_size = note.n_descsz;
			memcpy(image->build_id, (char *)data->d_buf + desc, note.n_descsz);
		}
}

static int take_section(struct plumb_image *image, Elf_Scn *section, const GElf_Shdr *header,
			const char *name)
{
	Elf_Data *data = elf_rawdata(section, NULL);

	if (!data || !data->d_buf || header->sh_flags & SHF_COMPRESSED)
		return 0;
	if (header->sh_type == SHT_NOTE && (data = elf_getdata(section, NULL)))
		plumb_image_take_build_id(image, data);
	data = elf_rawdata(section, NULL);
	if (!strcmp(name, ".BTF") && data->d_size <= UINT32_MAX)
		image->btf = image->btf ?: btf__new(data->d_buf, data->d_size);
	if (is_gone(name) || header->sh_type != SHT_PROGBITS || !(header->sh_flags & SHF_ALLOC))
		return 0;
	return plumb_image_add(image, header->sh_addr, data->d_buf, data->d_size,
			       header->sh_flags & SHF_EXECINSTR);
}

static int read_elf(struct plumb_image *image, const char *path)
{
	Elf *elf = image->file->elf;
	Elf_Scn *section = NULL;
	GElf_Ehdr header;
	GElf_Shdr s;
	const char *name;
	size_t names;
	bool is_relative;
	int err = 0;

	if (!gelf_getehdr(elf, &header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64) ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN))
		return plumb_error(ENOEXEC, "%s is not a kernel of x86_64 or arm64", path);
	image->machine = header.e_machine;
	if (elf_getshdrstrndx(elf, &names))
		return plumb_error(ENOEXEC, "%s is damaged: %s", path, elf_errmsg(-1));
	while (!err && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &s) && (name = elf_strptr(elf, names, s.sh_name)))
			err = take_section(image, section, &s, name);
	for (size_t i = 0; !err && !image->symbols && i < image->n_spans; i++)
		if (!image->spans[i].is_code)
			image->symbols = plumb_image_symbols(&image->spans[i], &is_relative);
	image->has_data = true;
	return err ? plumb_error(err, "no memory for %s", path) : 0;
}

/* The bytes of ALL, the only span, from symbol FROM to symbol TO; NULL: not there. */
static const unsigned char *part(const struct plumb_image *image, const struct plumb_span *all,
				 const char *from, const char *to, uint64_t *start, size_t *size)
{
	uint64_t end = plumb_image_address(image, to);

	*start = plumb_image_address(image, from);
	if (*start < all->address || end <= *start || end - all->address > all->size)
		return NULL;
	*size = end - *start;
	return all->bytes + (*start - all->address);
}

static int add_part(struct plumb_image *image, const struct plumb_span *all, const char *from,
		    const char *to, bool is_code)
{
	const unsigned char *bytes;
	uint64_t address;
	size_t size;

	bytes = part(image, all, from, to, &address, &size);
	return bytes ? plumb_image_add(image, address, bytes, size, is_code) : 0;
}

/*
 * Find the address to which the image is linked, if symbols are relative to it: its table of system
 * calls holds an absolute address.  0: not found.
 */
static uint64_t find_base(const struct plumb_image *image, const struct plumb_span *all)
{
	uint64_t table = plumb_image_address(image, "sys_call_table"),
		 first = plumb_image_address(image, "__arm64_sys_io_setup"), held;

	if (table < all->address || table - all->address > all->size ||
	    all->size - (table - all->address) < sizeof(held) || !first)
		return 0;
	memcpy(&held, all->bytes + (table - all->address), sizeof(held));
	return held > UINT32_MAX ? held - (first - all->address) : 0;
}

/* Read the symbols of an Image, and find the address to which it is linked. */
static void read_raw_symbols(struct plumb_image *image, struct plumb_span *all)
{
	bool is_relative;

	image->symbols = plumb_image_symbols(all, &is_relative);
	if (!is_relative) {
		all->address = plumb_image_address(image, "_text");
		image->has_data = all->address;
		return;
	}
	all->address = find_base(image, all);
	if (!all->address)
		return;
	free(image->symbols);
	image->symbols = plumb_image_symbols(all, &is_relative);
	image->has_data = true;
}

/* arm64's Image: the bytes as they are in memory, without section headers. */
static int read_raw(struct plumb_image *image, const char *path)
{
	struct plumb_span all = {0, image->file->bytes, image->file->size, false};
	Elf_Data notes = {.d_type = ELF_T_NHDR, .d_version = EV_CURRENT, .d_align = 4};
	const unsigned char *btf;
	uint64_t address;
	size_t size = 0;
	int err;

	image->machine = EM_AARCH64;
	read_raw_symbols(image, &all);
	btf = part(image, &all, "__start_BTF", "__stop_BTF", &address, &size);
	if (btf && size <= UINT32_MAX)
		image->btf = btf__new(btf, size);
	notes.d_buf = (void *)part(image, &all, "__start_notes", "__stop_notes", &address, &size);
	notes.d_size = size;
	if (notes.d_buf)
		plumb_image_take_build_id(image, &notes);
	err = add_part(image, &all, "_stext", "_etext", true) ?:
		      add_part(image, &all, "_etext", "__init_begin", false) ?:
		      add_part(image, &all, "__init_end", "_edata", false);
	return err ? plumb_error(err, "no memory for %s", path) : 0;
}

/* Find "Linux version RELEASE (...", which the kernel prints at boot. */
static void take_release(struct plumb_image *image)
{
	static const char before[] = "Linux version ";
	const unsigned char *p, *end;
	const struct plumb_span *s;
	size_t n;

	for (s = image->spans; !image->release && s < image->spans + image->n_spans; s++) {
		end = s->bytes + s->size;
		for (p = s->bytes; (p = memmem(p, end - p, before, strlen(before)));) {
			p += strlen(before);
			for (n = 0; n < (size_t)(end - p) && n < 64 && p[n] > ' ' && p[n] < 127;)
				n++;
			if (n && n < 64 && *p >= '0' && *p <= '9') {
				image->release = strndup((const char *)p, n);
				break;
			}
		}
	}
}

static int compare(const void *a, const void *b)
{
	const struct plumb_span *s = a, *t = b;

	return (s->address > t->address) - (s->address < t->address);
}

int plumb_image_open(const char *path, struct plumb_image *image)
{
	int err;

	*image = (struct plumb_image){.path = strdup(path)};
	image->file = calloc(1, sizeof(*image->file));
	if (!image->file || !image->path)
		err = plumb_error(ENOMEM, "no memory for %s", path);
	else
		err = plumb_image_file_open(path, image->file);
	if (!err)
		err = image->file->elf ? read_elf(image, path) : read_raw(image, path);
	if (err) {
		plumb_image_close(image);
		return err;
	}
	if (image->n_spans)
		qsort(image->spans, image->n_spans, sizeof(*image->spans), compare);
	take_release(image);
	return 0;
}

void plumb_image_close(struct plumb_image *image)
{
	if (image->file)
		plumb_image_file_close(image->file);
	plumb_kernel_btf_put(image->btf);
	free(image->file);
	free(image->path);
	free(image->release);
	free(image->symbols);
	free(image->spans);
	free(image->build_id);
	*image = (struct plumb_image){};
}

uint64_t plumb_image_address(const struct plumb_image *image, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = image->symbols; p && (p = strstr(p, name)); p += n)
		/* "ADDRESS T NAME": lines of modules continue after NAME and do not match. */
		if (p - image->symbols >= 19 && p[-1] == ' ' && p[-3] == ' ' &&
		    (p[n] == '\n' || !p[n]))
			return strtoull(p - 19, NULL, 16);
	return 0;
}
