/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kallsyms: reads the kernel's lists: symbols, traceable functions, kprobe blacklist. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/functions/lists.h>
#include <plumb/functions/tracepoints.h>

/* Reads a file to its end, adds a NUL and closes it.  Returns NULL and sets errno on failure. */
static char *read_open_file(FILE *f, size_t *size)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t n;

	if (!f)
		return NULL;
	n = getdelim(&text, &room, 0, f);
	if (n < 0 && ferror(f)) {
		free(text);
		text = NULL;
	} else if (n <= 0) {
		*text = n = 0;
	}
	*size = n;
	fclose(f);
	return text;
}

static char *read_file(const char *path, size_t *size)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s%s", plumb_functions_root, path);
	return read_open_file(fopen(name, "re"), size);
}

/* Cuts the first line off *REST; NULL after the last. */
static char *next_line(char **rest)
{
	char *line = *rest;

	if (!*line)
		return NULL;
	*rest = strchrnul(line, '\n');
	if (**rest)
		*(*rest)++ = 0;
	return line;
}

/* Parses lower-case hexadecimal digits; *END points after them. */
static uint64_t read_hex(char *text, char **end)
{
	uint64_t value = 0;

	for (; (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'); text++)
		value = value << 4 | (*text <= '9' ? *text - '0' : *text - 'a' + 10);
	*end = text;
	return value;
}

bool plumb_symbol_cut(char *line, struct plumb_symbol *s)
{
	char *p, *module;

	s->address = read_hex(line, &p);
	if (p[0] != ' ' || !p[1] || !strchr("tTwW", p[1]) || p[2] != ' ')
		return false;
	*s = (struct plumb_symbol){.name = p + 3, .address = s->address, .type = p[1]};
	module = strchr(s->name, '\t');
	if (module) {
		*module = 0;
		if (module[1] != '[')
			return false;
		s->module = module + 2;
		module[1 + strcspn(module + 1, "]")] = 0;
	}
	return true;
}

/* kallsyms lists BPF programs and the trampolines of ftrace and kprobes with a module name. */
static bool may_be_function(const struct plumb_symbol *s)
{
	return !s->module || (strcmp(s->module, "bpf") && strncmp(s->module, "__builtin__", 11));
}

static void add_symbol(struct plumb_symbols *symbols, const struct plumb_symbol *s)
{
	*plumb_append(symbols->all, symbols->n) = *s;
	if (!s->module && !strcmp(s->name, "_stext"))
		symbols->start = s->address;
	else if (!s->module && !strcmp(s->name, "_etext"))
		symbols->end = s->address;
}

static int compare(const void *a, const void *b)
{
	const struct plumb_symbol *s = a, *t = b;

	return (s->address > t->address) - (s->address < t->address);
}

/* Makes aliases adjacent.  Symbols of the kernel itself come first and are sorted already. */
static void sort_by_address(struct plumb_symbols *symbols)
{
	size_t n = 0;

	while (n < symbols->n && !symbols->all[n].module)
		n++;
	if (n < symbols->n)
		qsort(symbols->all + n, symbols->n - n, sizeof(*symbols->all), compare);
}

void plumb_symbols_parse(struct plumb_symbols *symbols, char *text)
{
	struct plumb_symbol s;
	char *line;

	*symbols = (struct plumb_symbols){.text = text};
	while ((line = next_line(&text)))
		if (plumb_symbol_cut(line, &s) && may_be_function(&s))
			add_symbol(symbols, &s);
	sort_by_address(symbols);
}

int plumb_symbols_read(struct plumb_symbols *symbols)
{
	static const char path[] = "/proc/kallsyms";
	size_t size;
	char *text = read_file(path, &size);

	*symbols = (struct plumb_symbols){};
	if (!text)
		return plumb_error(errno, "functions cannot be found: %s: %s", path,
				   strerror(errno));
	plumb_symbols_parse(symbols, text);
	return 0;
}

void plumb_symbols_free(struct plumb_symbols *symbols)
{
	free(symbols->all);
	free(symbols->text);
	*symbols = (struct plumb_symbols){};
}

bool plumb_symbol_exists(const struct plumb_symbols *symbols, const struct plumb_symbol *s)
{
	return s->module || !symbols->end ||
	       (s->address >= symbols->start && s->address < symbols->end);
}

size_t plumb_symbol_aliases(const struct plumb_symbols *symbols, struct plumb_symbol *s,
			    struct plumb_symbol **first)
{
	struct plumb_symbol *end = s + 1;

	*first = s;
	if (!s->address)
		return 1;
	while (*first > symbols->all && (*first)[-1].address == s->address)
		--*first;
	while (end < symbols->all + symbols->n && end->address == s->address)
		end++;
	return end - *first;
}

bool plumb_symbol_is_internal(const struct plumb_symbol *s)
{
	static const char *const prefixes[] = {
		".",
		"__cfi_",
		"__pfx_",
		"__SCT__",
		"__SCK__",
		"__ftrace_invalid_address__",
		"__bpf_prog_enter",
		"__bpf_prog_exit",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(s->name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Reads PATH below tracefs, which may be mounted at one of two places, or not at all. */
static char *read_tracefs(const char *path, size_t *size)
{
	static const char *const mounts[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char name[128], *text = NULL;
	int tracefs;

	for (size_t i = 0; !text && i < 2; i++) {
		snprintf(name, sizeof(name), "%s/%s", mounts[i], path);
		text = read_file(name, size);
	}
	if (text || *plumb_functions_root)
		return text;
	tracefs = plumb_tracefs_try();
	if (tracefs >= 0) {
		text = read_open_file(plumb_tracefs_file(tracefs, path), size);
		close(tracefs);
	}
	return text;
}

/* Returns the slot of NAME, or the free slot for it. */
static const char **find_slot(const struct plumb_names *names, const char *name)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a: hsearch() hashes few letters only */
	const char **slot;

	for (const char *p = name; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3;
	for (;; hash++) {
		slot = &names->slots[hash & names->mask];
		if (!*slot || !strcmp(*slot, name))
			return slot;
	}
}

/*
 * Reads lines of "NAME[ [MODULE]]", names only.  If several functions have a name and ftrace can
 * trace only one of them, attaching to the others fails.
 */
void plumb_traceable_read(struct plumb_names *names)
{
	size_t size, n = 1, room = 2;
	char *rest, *line;

	*names = (struct plumb_names){};
	names->text = rest = read_tracefs("available_filter_functions", &size);
	/* An empty list means that it is not available, not that no function can be traced. */
	if (!rest || !size)
		return;
	for (const char *p = rest; (p = strchr(p, '\n')); p++)
		n++;
	while (room < 2 * n)
		room *= 2;
	names->mask = room - 1;
	names->slots = plumb_zeroed(room, sizeof(*names->slots));
	while ((line = next_line(&rest))) {
		line[strcspn(line, " \t")] = 0;
		*find_slot(names, line) = line;
	}
}

bool plumb_names_have(const struct plumb_names *names, const char *name)
{
	return *find_slot(names, name);
}

void plumb_names_free(struct plumb_names *names)
{
	free(names->slots);
	free(names->text);
	*names = (struct plumb_names){};
}

/* "0xSTART-0xEND\tNAME[ [MODULE]]" */
static bool read_barred(char *line, struct plumb_barred *b)
{
	char *p, *name = strchr(line, '\t');

	if (!name || strncmp(line, "0x", 2))
		return false;
	b->start = read_hex(line + 2, &p);
	b->end = strncmp(p, "-0x", 3) ? 0 : read_hex(p + 3, &p);
	b->name = name + 1;
	name[1 + strcspn(name + 1, " \t")] = 0;
	return true;
}

void plumb_blacklist_read(struct plumb_blacklist *list)
{
	struct plumb_barred b;
	char *rest, *line;
	size_t size;

	*list = (struct plumb_blacklist){};
	list->text = rest = read_file("/sys/kernel/debug/kprobes/blacklist", &size);
	list->is_known = rest;
	while (rest && (line = next_line(&rest)))
		if (read_barred(line, &b))
			*plumb_append(list->all, list->n) = b;
}

/*
 * The kernel refuses kprobes in the whole of some sections, which symbols delimit, and on functions
 * marked by NOKPROBE_SYMBOL().  This macro defines a symbol _kbl_addr_NAME, which SYMBOLS include
 * if that kernel was built with CONFIG_KALLSYMS_ALL.
 */
void plumb_blacklist_derive(struct plumb_blacklist *list, const char *symbols)
{
	static const char *const ends[][2] = {
		{"__noinstr_text_start", "__noinstr_text_end"},
		{"__kprobes_text_start", "__kprobes_text_end"},
		{"__entry_text_start", "__entry_text_end"},
		{"__indirect_thunk_start", "__indirect_thunk_end"},
	};
	static const char mark[] = "_kbl_addr_";
	struct plumb_barred sections[sizeof(ends) / sizeof(ends[0])] = {};
	char *rest, *line, *name, *p;

	*list = (struct plumb_blacklist){.text = plumb_copied(symbols)};
	for (rest = list->text; (line = next_line(&rest));) {
		uint64_t address = read_hex(line, &p);

		name = strlen(p) > 3 ? p + 3 : p; /* " T NAME" */
		for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
			if (!strcmp(name, ends[i][0]))
				sections[i].start = address;
			else if (!strcmp(name, ends[i][1]))
				sections[i].end = address;
		if (strncmp(name, mark, strlen(mark)))
			continue;
		list->is_known = true;
		*plumb_append(list->all, list->n) =
			(struct plumb_barred){.name = name + strlen(mark)};
	}
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (sections[i].start < sections[i].end)
			*plumb_append(list->all, list->n) =
				(struct plumb_barred){sections[i].start, sections[i].end, ""};
}

/* Compares addresses if both are known: another function of that name may be allowed. */
bool plumb_blacklist_has(const struct plumb_blacklist *list, const struct plumb_symbol *s)
{
	const struct plumb_barred *b;

	for (b = list->all; b < list->all + list->n; b++)
		if (s->address && b->start ? s->address >= b->start && s->address < b->end
					   : !strcmp(s->name, b->name))
			return true;
	return false;
}

void plumb_blacklist_free(struct plumb_blacklist *list)
{
	free(list->all);
	free(list->text);
	*list = (struct plumb_blacklist){};
}
