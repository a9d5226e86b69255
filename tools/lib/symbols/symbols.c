// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbols.h"
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/privileges.h>
#include <plumb/core/text.h>

/* Maximum number of functions inlined at one address. */
#define INLINED 64

struct plumb_symbolizer *plumb_symbolizer_new(bool inlines)
{
	struct plumb_symbolizer *s = plumb_zeroed(1, sizeof(*s));

	elf_version(EV_CURRENT);
	s->inlines = inlines;
	s->queue_end = &s->queue;
	return s;
}

bool plumb_symbolizer_saw_change(struct plumb_symbolizer *s, pid_t pid)
{
	return s->mapped && plumb_mapped_has_changed(s->mapped, pid);
}

void plumb_symbolizer_watch(struct plumb_symbolizer *s)
{
	if (!s->mapped)
		s->mapped = plumb_mapped_open();
}

static void keep(void *string)
{
}

static void free_process(void *process)
{
	plumb_process_free(process);
}

void plumb_symbolizer_free(struct plumb_symbolizer *s)
{
	struct plumb_symfile *file;

	if (!s)
		return;
	tdestroy(s->processes, free_process);
	while ((file = s->files)) {
		s->files = file->next;
		plumb_symfile_free(file);
	}
	plumb_symtab_free(&s->kernel);
	plumb_symtab_free(&s->before);
	if (s->mapped)
		plumb_mapped_free(s->mapped);
	if (s->kallsyms)
		fclose(s->kallsyms);
	if (s->module_list)
		fclose(s->module_list);
	tdestroy(s->unread, keep);
	tdestroy(s->strings, free);
	free(s);
}

/* --- strings, each once; and the files whose symbols cannot be read --- */

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

const char *plumb_symbolizer_string(struct plumb_symbolizer *s, const char *text)
{
	char clean[PLUMB_SYMBOL_NAME], **found, *copy;

	plumb_escape(clean, text, sizeof(clean));
	found = tfind(clean, &s->strings, by_text);
	if (found)
		return *found;
	copy = plumb_copied(clean);
	plumb_required(tsearch(copy, &s->strings, by_text));
	return copy;
}

/* Adds PATH to the files that are not read; NULL: it is there. */
static const char *add_unread(struct plumb_symbolizer *s, const char *path)
{
	const char *name = plumb_symbolizer_string(s, path);

	if (tfind(name, &s->unread, by_text))
		return NULL;
	plumb_required(tsearch(name, &s->unread, by_text));
	return name;
}

void plumb_symbolizer_unread(struct plumb_symbolizer *s, const char *path, const char *why)
{
	const char *name = add_unread(s, path);

	if (name && !s->counts.unread++)
		plumb_info("a file whose symbols cannot be read: %s: %s", name, why);
}

void plumb_symbolizer_foreign(struct plumb_symbolizer *s, const char *path, const char *why)
{
	const char *name = add_unread(s, path);

	if (name && !s->counts.foreign++)
		plumb_warn("symbols are not read from %s: it %s", name, why);
}

static const char *demangled(struct plumb_symbolizer *s, const char *name)
{
	char text[PLUMB_SYMBOL_NAME];

	plumb_demangle(name, text, sizeof(text));
	return plumb_symbolizer_string(s, text);
}

/*
 * Whether ADDRESS is the first byte of a trampoline that handles returns.  Return probes put its
 * address in place of the return address, and signal handlers return to such code: no call precedes
 * it.
 */
static bool is_put_there(struct plumb_symtab *t, uint64_t address)
{
	static const char *const handlers[] = {
		"kretprobe_trampoline",  "__kretprobe_trampoline", "arch_rethook_trampoline",
		"return_to_handler",     "__restore_rt",           "__restore",
		"__kernel_rt_sigreturn", "__kernel_sigreturn"};
	const struct plumb_symtab_entry *e = plumb_symtab_find(t, address);

	for (size_t i = 0; e && e->address == address && i < sizeof(handlers) / sizeof(*handlers);
	     i++)
		if (!strcmp(t->text + e->name, handlers[i]))
			return true;
	return false;
}

/*
 * Names the function that contains ADDRESS, or ADDRESS - 1 if IS_RETURN; returns its symbol, or
 * NULL.
 */
static const struct plumb_symtab_entry *name_function(struct plumb_symbolizer *s,
						      struct plumb_symtab *t, uint64_t address,
						      bool is_return,
						      struct plumb_frame_name *frame)
{
	struct plumb_symtab_entry *e = plumb_symtab_find(t, address - is_return);

	if (!e)
		return NULL;
	if (!e->shown)
		e->shown = demangled(s, t->text + e->name);
	frame->function = e->shown;
	frame->offset = address - e->address;
	return e;
}

/* --- kernel --- */

static void read_kernel(struct plumb_symbolizer *s)
{
	int err;

	if (s->kernel_is_read)
		return;
	s->kernel_is_read = true;
	s->module_list = plumb_kernel_list("modules");
	s->modules = s->module_list ? plumb_kernel_modules(s->module_list) : 0;
	s->kallsyms = plumb_kernel_list("kallsyms");
	err = s->kallsyms ? plumb_symtab_read_kernel(&s->kernel, s->kallsyms) : -errno;
	if (err)
		snprintf(s->obstacle, sizeof(s->obstacle),
			 "no names of kernel functions: /proc/kallsyms: %s", strerror(-err));
	else if (!s->kernel.n)
		snprintf(s->obstacle, sizeof(s->obstacle),
			 "no names of kernel functions: their addresses are hidden "
			 "(kernel.kptr_restrict, or not root)");
	if (!err && !s->kernel.n)
		plumb_tell_lack(PLUMB_CAP(SYSLOG), "names of kernel functions");
}

const char *plumb_symbolizer_obstacle(struct plumb_symbolizer *s)
{
	read_kernel(s);
	return *s->obstacle ? s->obstacle : NULL;
}

void plumb_symbolizer_note_kernel(struct plumb_symbolizer *s)
{
	const uint64_t modules = s->module_list ? plumb_kernel_modules(s->module_list) : 0;
	struct plumb_symtab now = {};

	if (modules == s->modules || !s->kallsyms)
		return;
	if (plumb_symtab_read_kernel(&now, s->kallsyms) || !now.n) {
		plumb_symtab_free(&now);
		return;
	}
	s->modules = modules;
	plumb_symtab_free(&s->before);
	s->before = s->kernel;
	s->kernel = now;
}

static void mark_reused(struct plumb_symbolizer *s, struct plumb_frame_name *frame)
{
	char text[PLUMB_SYMBOL_NAME];

	snprintf(text, sizeof(text), "%.*s [address reused]", PLUMB_SYMBOL_NAME - 32,
		 frame->function);
	frame->function = plumb_symbolizer_string(s, text);
}

static bool name_kernel(struct plumb_symbolizer *s, struct plumb_symtab *t, uint64_t address,
			bool is_return, struct plumb_frame_name *frame)
{
	const struct plumb_symtab_entry *e;
	const char *module;

	*frame = (struct plumb_frame_name){.is_kernel = true, .offset = address};
	e = name_function(s, t, address, is_return && !is_put_there(t, address), frame);
	if (!e)
		return false;
	module = t->text + e->name;
	module += strlen(module) + 1;
	if (*module)
		frame->module = plumb_symbolizer_string(s, module);
	return true;
}

void plumb_symbolize_kernel(struct plumb_symbolizer *s, uint64_t address, bool is_return,
			    struct plumb_frame_name *frame)
{
	struct plumb_frame_name before;

	read_kernel(s);
	s->counts.addresses++;
	if (!name_kernel(s, &s->kernel, address, is_return, frame))
		s->counts.unknown += !name_kernel(s, &s->before, address, is_return, frame);
	else if (frame->module && name_kernel(s, &s->before, address, is_return, &before) &&
		 (frame->function != before.function || frame->module != before.module))
		mark_reused(s, frame);
}

void plumb_symbolize_caller(uint64_t address, struct plumb_frame_name *frame)
{
	static struct plumb_symbolizer *symbolizer;

	if (!symbolizer)
		symbolizer = plumb_symbolizer_new(false);
	plumb_symbolize_kernel(symbolizer, address, true, frame);
	if (frame->function)
		return;
	plumb_symbolizer_note_kernel(symbolizer);
	plumb_symbolize_kernel(symbolizer, address, true, frame);
}

/* --- user --- */

/* Names the functions inlined at ADDRESS, as the file's symbols use it; returns their number. */
static size_t name_inlined(struct plumb_symbolizer *s, const struct plumb_code_map *m,
			   uint64_t address, struct plumb_frame_name *frames, size_t max)
{
	const char *names[INLINED];
	size_t n;

	if (!m->file->inlines)
		return 0;
	n = plumb_inlines_find(m->file->inlines, address, names, max < INLINED ? max : INLINED);
	for (size_t i = 0; i < n; i++)
		frames[i] = (struct plumb_frame_name){
			.function = demangled(s, names[i]),
			.module = m->module,
			.is_inlined = true,
		};
	return n;
}

/*
 * Names an address in an ELF file, whose module and offset are in FRAMES[0]; returns the number of
 * frames.
 */
static size_t name_in_file(struct plumb_symbolizer *s, const struct plumb_code_map *m,
			   bool is_return, struct plumb_frame_name *frames, size_t max)
{
	struct plumb_frame_name frame = *frames;
	uint64_t address;
	size_t n;

	plumb_symfile_read(s, m->file);
	if (!plumb_symfile_address(m->file, frame.offset - is_return, &address))
		return 1;
	if (is_return && is_put_there(&m->file->table, address + 1)) {
		is_return = false;
		address++;
	}
	n = name_inlined(s, m, address, frames, max - 1);
	name_function(s, &m->file->table, address + is_return, is_return, &frame);
	frames[n] = frame;
	return n + 1;
}

/* What a JIT compiler has put at an address is marked where it was not always the same. */
static void name_in_map(struct plumb_symbolizer *s, struct plumb_perfmap *map, uint64_t address,
			bool is_return, struct plumb_frame_name *frame)
{
	struct plumb_frame_name former = *frame;
	const struct plumb_symtab_entry *e, *before;

	e = name_function(s, &map->table, address, is_return, frame);

	if (!e)
		return;
	frame->module = "[perf map]";
	before = name_function(s, &map->before, address, is_return, &former);
	if (e->is_reused ||
	    (before && (before->is_reused || strcmp(former.function, frame->function))))
		mark_reused(s, frame);
}

size_t plumb_symbolize_user(struct plumb_symbolizer *s, pid_t pid, uint64_t image, uint64_t address,
			    bool is_return, struct plumb_frame_name *frames, size_t max)
{
	struct plumb_process *p = plumb_process_find(s, pid);
	const struct plumb_code_map *m;
	size_t n = 1;

	if (!p || !p->rest) {
		plumb_symbolizer_note(s, pid);
		p = plumb_process_find(s, pid);
	}
	m = p ? plumb_process_mapping(p, image, address - is_return) : NULL;
	*frames = (struct plumb_frame_name){.offset = address};
	s->counts.addresses++;
	if (m) {
		frames->module = m->module;
		frames->offset = address - m->start + m->offset;
		if (m->file && m->file->n_segments)
			n = name_in_file(s, m, is_return, frames, max);
		else if (m->may_be_jit)
			name_in_map(s, &p->perf, address, is_return, frames);
		if (frames[n - 1].function &&
		    plumb_process_reuses(p, image, address - is_return, m))
			mark_reused(s, &frames[n - 1]);
	}
	s->counts.unknown += !frames[n - 1].function;
	return n;
}

/* --- the rest --- */

const char *plumb_frame_name_text(const struct plumb_frame_name *frame, char *text, size_t size)
{
	if (frame->function && frame->is_kernel && frame->module)
		snprintf(text, size, "%s [%s]", frame->function, frame->module);
	else if (frame->function)
		snprintf(text, size, "%s", frame->function);
	else if (frame->module)
		snprintf(text, size, "%s+0x%" PRIx64, frame->module, frame->offset);
	else
		snprintf(text, size, "0x%" PRIx64 " [%s]", frame->offset,
			 frame->is_kernel ? "kernel" : "unknown");
	for (char *p = text; (p = strchr(p, ';')); p++)
		*p = ':';
	return text;
}

const struct plumb_symbolizer_counts *plumb_symbolizer_counts(const struct plumb_symbolizer *s)
{
	return &s->counts;
}
