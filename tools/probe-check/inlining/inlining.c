/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/symbols/elffile.h>
#include "inlining/code.h"
#include <errno.h>
#include "image/image.h"
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>

static void forget(struct plumb_callee *callees, size_t n)
{
	for (size_t i = 0; i < n; i++)
		callees[i] = (struct plumb_callee){callees[i].name, .address = callees[i].address};
}

static int count_inlined(struct plumb_debuginfo *info, uint64_t bias, struct plumb_callee *callees,
			 size_t n, struct plumb_calls *calls)
{
	int err = 0;

	if (info->dwarf)
		err = plumb_inlined_count(info->dwarf, info->shared, bias, callees, n);
	calls->has_debug_info = info->dwarf && !err;
	plumb_debuginfo_close(info);
	return err;
}

/* --- a kernel --- */

/* An export has 32-bit offsets, each from its own address: of the function, its name, and more. */
static void look_for_exports(struct plumb_scan *scan, const struct plumb_image *image,
			     const struct plumb_span *s, const char *from, const char *to)
{
	uint64_t start = plumb_image_address(image, from), end = plumb_image_address(image, to);
	struct plumb_callee *callee;
	int32_t offset;

	if (start < s->address || end <= start || end - s->address > s->size)
		return;
	for (; end - start >= sizeof(offset); start += sizeof(offset)) {
		memcpy(&offset, s->bytes + (start - s->address), sizeof(offset));
		callee = plumb_scan_find(scan, start + offset, PLUMB_MARK_CODE);
		if (callee)
			callee->exported = true;
	}
}

/* What to add to an address in the file with debugging information to get that in the image. */
static uint64_t find_bias(const struct plumb_image *image, Dwarf *dwarf)
{
	uint64_t text = plumb_image_address(image, "_stext");
	GElf_Shdr header;

	return dwarf && text && plumb_elf_section(dwarf_getelf(dwarf), ".text", &header)
		       ? text - header.sh_addr
		       : 0;
}

/* Where functions of the kernel begin: lines as in /proc/kallsyms. */
static int add_starts(struct plumb_scan *scan, const struct plumb_image *image)
{
	const char *line = image->symbols;
	char *end;
	int err = 0;

	for (; line && *line && !err; line = strchrnul(line, '\n'), line += *line == '\n') {
		uint64_t address = strtoull(line, &end, 16);

		if (*end == ' ' && end[1] && strchr("tTwW", end[1]))
			err = plumb_scan_start(scan, address);
	}
	plumb_scan_sort_starts(scan);
	return err;
}

/* Init data, but for lists that have the addresses of functions and not to call these. */
static void scan_init_data(struct plumb_scan *scan, const struct plumb_image *image,
			   const struct plumb_block *block, size_t list)
{
	static const char *const lists[][2] = {
		{"__start_mcount_loc", "__stop_mcount_loc"},
		{"__start_kprobe_blacklist", "__stop_kprobe_blacklist"},
		{"__start_error_injection_whitelist", "__stop_error_injection_whitelist"},
	};
	struct plumb_block before = *block, behind = *block;
	uint64_t start, stop;

	if (list == sizeof(lists) / sizeof(lists[0])) {
		plumb_scan_data(scan, block->address, block->bytes, block->size);
		return;
	}
	start = plumb_image_address(image, lists[list][0]);
	stop = plumb_image_address(image, lists[list][1]);
	if (start >= block->address && start < stop && stop - block->address <= block->size) {
		before.size = start - block->address;
		behind.address = stop;
		behind.bytes += stop - block->address;
		behind.size -= stop - block->address;
		scan_init_data(scan, image, &before, list + 1);
	}
	scan_init_data(scan, image, &behind, list + 1);
}

/* Return whether the list of all functions that ftrace knows can be told from other init data. */
static bool knows_lists(const struct plumb_image *image)
{
	return plumb_image_address(image, "__start_mcount_loc");
}

static void scan_span(struct plumb_scan *scan, const struct plumb_image *image,
		      const struct plumb_span *s)
{
	const struct plumb_block block = {s->address, s->bytes, s->size};

	scan->slide = s->slide;
	scan->is_init = s->is_init;
	if (s->is_code)
		plumb_scan_code(scan, s->address, s->bytes, s->size);
	else if (!s->is_init)
		plumb_scan_data(scan, s->address, s->bytes, s->size);
	else if (knows_lists(image))
		scan_init_data(scan, image, &block, 0);
	look_for_exports(scan, image, s, "__start___ksymtab", "__stop___ksymtab");
	look_for_exports(scan, image, s, "__start___ksymtab_gpl", "__stop___ksymtab_gpl");
}

int plumb_calls_in_kernel(const struct plumb_image *image, struct plumb_callee *callees, size_t n,
			  struct plumb_calls *calls)
{
	const struct plumb_span *s;
	struct plumb_debuginfo info;
	struct plumb_scan scan;
	int err;

	*calls = (struct plumb_calls){.has_code = image->n_spans,
				      .has_data = image->n_spans && image->has_data};
	forget(callees, n);
	err = plumb_scan_begin(&scan, image->machine, callees, n);
	if (!err)
		err = add_starts(&scan, image);
	for (s = image->spans; !err && s < image->spans + image->n_spans; s++) {
		scan_span(&scan, image, s);
		calls->has_init |= s->is_init && s->is_code && knows_lists(image);
	}
	plumb_scan_end(&scan);
	if (!err) {
		plumb_debuginfo_open_kernel(&info, image);
		err = count_inlined(&info, find_bias(image, info.dwarf), callees, n, calls);
	}
	return err ? plumb_error(err, "no memory to count calls") : 0;
}

/* --- a program or library --- */

/* Types of relocations that store a function's address. */
struct relocation {
	int relative, absolute, slot[2];
};

static struct relocation relocations_of(int machine)
{
	if (machine == EM_AARCH64)
		return (struct relocation){R_AARCH64_RELATIVE,
					   R_AARCH64_ABS64,
					   {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT}};
	return (struct relocation){
		R_X86_64_RELATIVE, R_X86_64_64, {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT}};
}

static int look_at_relocation(struct plumb_scan *scan, Elf_Data *symbols, const GElf_Rela *r)
{
	struct relocation kinds = relocations_of(scan->machine);
	struct plumb_callee *callee;
	int type = GELF_R_TYPE(r->r_info);
	GElf_Sym symbol = {};

	if (type == kinds.relative) {
		callee = plumb_scan_find(scan, r->r_addend, PLUMB_MARK_CODE);
		if (callee)
			callee->taken++;
		return 0;
	}
	if (!symbols || !gelf_getsym(symbols, GELF_R_SYM(r->r_info), &symbol) ||
	    symbol.st_shndx == SHN_UNDEF)
		return 0;
	callee = plumb_scan_find(scan, symbol.st_value, PLUMB_MARK_CODE);
	if (callee && type == kinds.absolute)
		callee->taken++;
	if (callee && (type == kinds.slot[0] || type == kinds.slot[1]))
		return plumb_scan_mark(scan, r->r_offset, callee, PLUMB_MARK_SLOT);
	return 0;
}

static int look_at_relocations(struct plumb_scan *scan, Elf *elf, Elf_Scn *section,
			       const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL),
		 *symbols = elf_getdata(elf_getscn(elf, header->sh_link), NULL);
	GElf_Rela r;
	int err = 0;

	for (int i = 0; !err && data && gelf_getrela(data, i, &r); i++)
		err = look_at_relocation(scan, symbols, &r);
	return err;
}

/* Passes over the sections: stubs are found by slots, and calls by stubs. */
enum pass { SLOTS, STUBS, CALLS, N_PASSES };

static int look_at_section(struct plumb_scan *scan, Elf *elf, Elf_Scn *section,
			   const GElf_Shdr *header, enum pass pass, bool has_words)
{
	size_t names = 0;
	const char *name =
		elf_getshdrstrndx(elf, &names) ? NULL : elf_strptr(elf, names, header->sh_name);
	bool is_program = header->sh_type == SHT_PROGBITS && header->sh_flags & SHF_ALLOC,
	     is_code = is_program && header->sh_flags & SHF_EXECINSTR, is_stubs;
	Elf_Data *data;

	if (pass == SLOTS && header->sh_type == SHT_RELA && header->sh_flags & SHF_ALLOC)
		return look_at_relocations(scan, elf, section, header);
	if (pass == SLOTS ||
	    (!is_program && header->sh_type != SHT_INIT_ARRAY && header->sh_type != SHT_FINI_ARRAY))
		return 0;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf)
		return 0;
	is_stubs = is_code && name && !strncmp(name, ".plt", 4);
	if (pass == STUBS && is_stubs)
		return plumb_scan_stubs(scan, header->sh_addr, data->d_buf, data->d_size);
	if (pass == CALLS && is_code && !is_stubs)
		plumb_scan_code(scan, header->sh_addr, data->d_buf, data->d_size);
	else if (pass == CALLS && !is_code && has_words && name && strncmp(name, ".eh_frame", 9))
		plumb_scan_data(scan, header->sh_addr, data->d_buf, data->d_size);
	return 0;
}

/* Return whether words hold addresses even before the file is loaded: not only relocations do. */
static bool has_words(Elf *elf, const GElf_Ehdr *header)
{
	Elf_Scn *section = NULL;
	GElf_Shdr s;

	while (header->e_type != ET_EXEC && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &s) && s.sh_type == SHT_RELR)
			return true;
	return header->e_type == ET_EXEC;
}

/* Note where a function begins, by a symbol, and whether other files may call it. */
static int look_at_symbol(struct plumb_scan *scan, const GElf_Sym *symbol, bool is_dynamic)
{
	struct plumb_callee *callee;

	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_value)
		return 0;
	callee = plumb_scan_find(scan, symbol->st_value, PLUMB_MARK_CODE);
	if (callee && is_dynamic && GELF_ST_VISIBILITY(symbol->st_other) != STV_HIDDEN)
		callee->exported = true;
	return GELF_ST_TYPE(symbol->st_info) == STT_FUNC ? plumb_scan_start(scan, symbol->st_value)
							 : 0;
}

static int look_at_symbols(struct plumb_scan *scan, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Data *data;
	int err = 0;

	while (!err && (section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; !err && data && gelf_getsym(data, i, &symbol); i++)
			err = look_at_symbol(scan, &symbol, header.sh_type == SHT_DYNSYM);
	}
	plumb_scan_sort_starts(scan);
	return err;
}

static int count_in_code(Elf *elf, const GElf_Ehdr *header, struct plumb_callee *callees, size_t n)
{
	bool words = has_words(elf, header);
	struct plumb_scan scan;
	int err = plumb_scan_begin(&scan, header->e_machine, callees, n)
			  ?: look_at_symbols(&scan, elf);

	for (enum pass pass = 0; !err && pass < N_PASSES; pass++) {
		Elf_Scn *section = NULL;
		GElf_Shdr s;

		while (!err && (section = elf_nextscn(elf, section)))
			if (gelf_getshdr(section, &s))
				err = look_at_section(&scan, elf, section, &s, pass, words);
	}
	plumb_scan_end(&scan);
	return err;
}

int plumb_calls_in_file(const char *path, struct plumb_callee *callees, size_t n,
			struct plumb_calls *calls)
{
	struct plumb_debuginfo info;
	struct plumb_elf file;
	GElf_Ehdr header;
	int err = plumb_elf_open(path, &file);

	*calls = (struct plumb_calls){};
	forget(callees, n);
	if (err || !gelf_getehdr(file.elf, &header)) {
		plumb_elf_close(&file);
		return err ?: plumb_error(ENOEXEC, "%s is damaged", path);
	}
	/* 32-bit files have the addends of relocations in words, which are not read here. */
	calls->has_code = true;
	calls->has_data = header.e_ident[EI_CLASS] == ELFCLASS64;
	err = count_in_code(file.elf, &header, callees, n);
	if (!err) {
		plumb_debuginfo_open(&info, &file);
		err = count_inlined(&info, 0, callees, n, calls);
	}
	plumb_elf_close(&file);
	return err ? plumb_error(err, "no memory to count calls") : 0;
}
