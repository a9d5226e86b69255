/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/symbols/go-table.h>

#include <gelf.h>
#include <string.h>
#include <plumb/symbols/elffile.h>

/* struct pcHeader, with pointers of 8 bytes. */
struct header {
	uint32_t magic;
	uint8_t pad[2], quantum, pointer;
	uint64_t functions, files, text, names, units, file_names, pcs, lines;
};

#define MAGIC_118 0xfffffff0
#define MAGIC_120 0xfffffff1

/* struct _func, up to what is of interest. */
struct function {
	uint32_t entry;
	int32_t name;
	uint32_t arguments, deferred, frames, files, lines, pcdata, unit;
};

static const Elf_Data *find_table(Elf *elf)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	GElf_Shdr header;
	Elf_Scn *section = NULL;

	for (int i = 0; i < 2 && !section; i++)
		section = plumb_elf_section(elf, names[i], &header);
	return section && header.sh_type != SHT_NOBITS ? elf_rawdata(section, NULL) : NULL;
}

/* Whether SIZE bytes at OFFSET are in the table, which are copied to TO. */
static bool read_at(const struct plumb_go_table *t, uint64_t offset, void *to, size_t size)
{
	if (offset > t->size || size > t->size - offset)
		return false;
	memcpy(to, t->data + offset, size);
	return true;
}

bool plumb_go_table(Elf *elf, struct plumb_go_table *t)
{
	const Elf_Data *data = find_table(elf);
	struct header h;
	GElf_Shdr text;

	if (!data || !plumb_elf_section(elf, ".text", &text))
		return false;
	*t = (struct plumb_go_table){.data = data->d_buf, .size = data->d_size};
	if (!read_at(t, 0, &h, sizeof(h)) || (h.magic != MAGIC_118 && h.magic != MAGIC_120) ||
	    h.pointer != 8 || !h.quantum || h.functions > t->size / 8)
		return false;
	/* In a position-independent program that is 0 until it is loaded. */
	t->text = h.text ?: text.sh_addr;
	t->n = h.functions;
	t->names = h.names;
	t->pcs = h.pcs;
	t->functions = h.lines;
	t->quantum = h.quantum;
	t->has_lines = h.magic == MAGIC_120;
	return true;
}

bool plumb_go_function(const struct plumb_go_table *t, size_t i, struct plumb_go_function *f)
{
	uint32_t places[3]; /* this one's address and entry; the address of the next */
	struct function function;
	uint64_t entry;

	if (!read_at(t, t->functions + i * 8, places, sizeof(places)))
		return false;
	entry = t->functions + places[1];
	if (!read_at(t, entry, &function, sizeof(function)) ||
	    !read_at(t, entry + sizeof(function) + 4 * t->has_lines + 1, &f->flags, 1))
		return false;
	f->begin = t->text + places[0];
	f->end = t->text + places[2];
	f->frames = function.frames;
	f->name = NULL;
	if (t->names + (uint32_t)function.name < t->size) {
		f->name = (const char *)t->data + t->names + (uint32_t)function.name;
		if (!memchr(f->name, 0, t->size - t->names - (uint32_t)function.name))
			f->name = NULL;
	}
	return f->name && f->begin < f->end;
}

/* A number of seven bits a byte, the lowest first; false: the table has ended. */
static bool read_number(const struct plumb_go_table *t, size_t *at, uint32_t *number)
{
	*number = 0;
	for (unsigned int shift = 0; *at < t->size && shift < 35; shift += 7) {
		const uint8_t byte = t->data[(*at)++];

		if (shift < 32)
			*number |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* The change of the value, the sign in the lowest bit, and for how many bytes of code it is so. */
static bool read_frame(const struct plumb_go_table *t, struct plumb_go_frame *frame, bool is_first)
{
	uint32_t change, length;

	if (!read_number(t, &frame->at, &change) || (!change && !is_first) ||
	    !read_number(t, &frame->at, &length) || !length)
		return false;
	frame->size += change & 1 ? -(int64_t)(change >> 1) - 1 : (int64_t)(change >> 1);
	frame->begin = frame->end;
	frame->end = frame->begin + (uint64_t)length * t->quantum;
	return true;
}

bool plumb_go_first(const struct plumb_go_table *t, const struct plumb_go_function *f,
		    struct plumb_go_frame *frame)
{
	if (t->pcs > t->size || f->frames > t->size - t->pcs)
		return false;
	*frame = (struct plumb_go_frame){.end = f->begin, .size = -1, .at = t->pcs + f->frames};
	return f->frames && read_frame(t, frame, true);
}

bool plumb_go_next(const struct plumb_go_table *t, struct plumb_go_frame *frame)
{
	return read_frame(t, frame, false);
}
