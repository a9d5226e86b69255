/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "image/file.h"
#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/kernel/types.h>

#include <bpf/btf.h>

int plumb_image_add(struct plumb_image *image, struct plumb_span span)
{
	struct plumb_span *more;

	if (!span.bytes || !span.size || span.address + span.size < span.address)
		return 0;
	more = realloc(image->spans, (image->n_spans + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	image->spans = more;
	image->spans[image->n_spans++] = span;
	return 0;
}

static bool begins_with(const char *section, const char *const *prefixes)
{
	for (; *prefixes; prefixes++)
		if (!strncmp(section, *prefixes, strlen(*prefixes)))
			return true;
	return false;
}

/* Return whether a section is freed after boot; each CPU has a copy of per-CPU data. */
static bool is_init(const char *section)
{
	static const char *const prefixes[] = {".init.text", ".init.data", ".data..percpu", NULL};

	return begins_with(section, prefixes);
}

/* Return whether a section is never used, only at boot by the loader, or by tools. */
static bool is_gone(const char *section)
{
	static const char *const prefixes[] = {".init",  ".exit", ".altinstr",
					       "__init", ".BTF",  NULL};

	return !is_init(section) && begins_with(section, prefixes);
}

static int take_section(struct plumb_image *image, Elf_Scn *section, const GElf_Shdr *header,
			const char *name)
{
	Elf_Data *data = elf_rawdata(section, NULL);

	if (!data || !data->d_buf || header->sh_flags & SHF_COMPRESSED)
		return 0;
	if (!strcmp(name, ".BTF") && data->d_size <= UINT32_MAX)
		image->btf = image->btf ?: btf__new(data->d_buf, data->d_size);
	if (is_gone(name) || header->sh_type != SHT_PROGBITS || !(header->sh_flags & SHF_ALLOC))
		return 0;
	return plumb_image_add(image, (struct plumb_span){
					      .address = header->sh_addr,
					      .bytes = data->d_buf,
					      .size = data->d_size,
					      .is_code = header->sh_flags & SHF_EXECINSTR,
					      .is_init = is_init(name),
				      });
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
	image->build_id_size = plumb_elf_build_id(elf, image->build_id);
	if (elf_getshdrstrndx(elf, &names))
		return plumb_error(ENOEXEC, "%s is damaged: %s", path, elf_errmsg(-1));
	while (!err && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &s) && (name = elf_strptr(elf, names, s.sh_name)))
			err = take_section(image, section, &s, name);
	for (size_t i = 0; !err && !image->symbols && i < image->n_spans; i++)
		if (!image->spans[i].is_code && !image->spans[i].is_init)
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
		    const char *to, bool is_code, bool is_init)
{
	struct plumb_span span = {.is_code = is_code, .is_init = is_init};

	span.bytes = part(image, all, from, to, &span.address, &span.size);
	return plumb_image_add(image, span);
}

/*
 * Find the address to which the image is linked, if symbols are relative to its byte SHIFT: its
 * table of system calls holds an absolute address.  0: not found (5.10, where that is filled in at
 * boot).
 */
static uint64_t find_base(const struct plumb_image *image, const struct plumb_span *all,
			  uint64_t shift)
{
	uint64_t table = plumb_image_address(image, "sys_call_table"),
		 first = plumb_image_address(image, "__arm64_sys_io_setup"), held;

	if (!table || !first || table + shift > all->size ||
	    all->size - table - shift < sizeof(held))
		return 0;
	memcpy(&held, all->bytes + table + shift, sizeof(held));
	return held > UINT32_MAX ? held - first - shift : 0;
}

/*
 * The byte to which symbols are relative: the first one, _text; but 5.10 does not list that.  There
 * it is efi_header_end, and the header of a PE file says where that is.
 */
static uint64_t find_shift(const struct plumb_image *image, const struct plumb_span *all)
{
	enum { PE_AT = 60, HEADERS_AT = 24 + 60 };
	uint32_t pe, headers;

	if (!image->symbols || !strstr(image->symbols, " efi_header_end\n") ||
	    all->size < PE_AT + sizeof(pe))
		return 0;
	memcpy(&pe, all->bytes + PE_AT, sizeof(pe));
	pe = le32toh(pe);
	if (pe > all->size || all->size - pe < HEADERS_AT + sizeof(headers) ||
	    memcmp(all->bytes + pe, "PE\0", 4) != 0)
		return 0;
	memcpy(&headers, all->bytes + pe + HEADERS_AT, sizeof(headers));
	return le32toh(headers) - plumb_image_address(image, "efi_header_end");
}

/* Read the symbols of an Image, and find the address to which it is linked. */
static void read_raw_symbols(struct plumb_image *image, struct plumb_span *all)
{
	struct plumb_span symbols = *all;
	bool is_relative;
	uint64_t shift;

	image->symbols = plumb_image_symbols(all, &is_relative);
	if (!is_relative) {
		all->address = plumb_image_address(image, "_text");
		image->has_data = all->address;
		return;
	}
	shift = find_shift(image, all);
	all->address = find_base(image, all, shift);
	image->has_data = all->address;
	symbols.address = all->address + shift;
	if (!symbols.address)
		return;
	free(image->symbols);
	image->symbols = plumb_image_symbols(&symbols, &is_relative);
}

/* The types in ALL, if no symbol says where they are: behind the header of BTF, 24 bytes. */
static struct btf *find_btf(const struct plumb_span *all)
{
	static const unsigned char head[] = {0x9f, 0xeb, 1, 0, 24, 0, 0, 0};
	const unsigned char *end = all->bytes + all->size, *at = all->bytes;
	struct btf *btf = NULL;
	uint32_t parts[4]; /* the types' offset behind the header and length, the strings' */
	uint64_t size;

	for (; !btf && (at = memmem(at, end - at, head, sizeof(head))); at++) {
		if (end - at < 24)
			break;
		memcpy(parts, at + sizeof(head), sizeof(parts));
		size = 24 + (uint64_t)le32toh(parts[2]) + le32toh(parts[3]);
		if (size <= (uint64_t)(end - at) && size <= UINT32_MAX)
			btf = btf__new(at, size);
	}
	return btf;
}

/* arm64's Image: the bytes as they are in memory, without section headers. */
static int read_raw(struct plumb_image *image, const char *path)
{
	struct plumb_span all = {.bytes = image->file->bytes, .size = image->file->size};
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
	else if (image->symbols)
		image->btf = find_btf(&all);
	notes.d_buf = (void *)part(image, &all, "__start_notes", "__stop_notes", &address, &size);
	notes.d_size = size;
	image->build_id_size = notes.d_buf ? plumb_elf_build_id_in(&notes, image->build_id) : 0;
	/* Behind __per_cpu_end are relocations, which have the address of each function. */
	err = add_part(image, &all, "_stext", "_etext", true, false)                     ?:
	      add_part(image, &all, "_etext", "__init_begin", false, false)              ?:
	      add_part(image, &all, "_sinittext", "_einittext", true, true)              ?:
	      add_part(image, &all, "__initdata_begin", "__per_cpu_end", false, true)    ?:
	      add_part(image, &all, "__init_end", "_edata", false, false);
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
	if (image->boot)
		plumb_image_close(image->boot);
	plumb_kernel_btf_put(image->btf);
	free(image->file);
	free(image->boot);
	free(image->path);
	free(image->release);
	free(image->symbols);
	free(image->spans);
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
