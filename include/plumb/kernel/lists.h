/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * functions: what its parts share.  kallsyms.c reads the kernel's lists, traceability.c says what
 * they say of a function, pattern.c compares with what was typed, functions-find.c chooses,
 * prototypes.c has the types.
 */
#ifndef PLUMB_LISTS_H
#define PLUMB_LISTS_H

#include <plumb/kernel/functions.h>
#include <plumb/kernel/traceability.h>

/* Goes before /proc and /sys: "", or where a test keeps its own. */
extern const char *plumb_functions_root;

/* A symbol of executable code. */
struct plumb_symbol {
	char *name;
	const char *module; /* NULL: the kernel itself */
	uint64_t address;
	char type; /* t: local; T: global; w, W: weak */
	bool taken;
};

/* Those of /proc/kallsyms: the kernel itself by address, then the modules by address. */
struct plumb_symbols {
	char *text; /* what the names point into */
	struct plumb_symbol *all;
	size_t n;
	uint64_t start, end; /* of the kernel's code; 0: not known */
};

/* Names, hashed. */
struct plumb_names {
	char *text;
	const char **slots; /* NULL: the list could not be read */
	size_t mask;
};

struct plumb_blacklist {
	char *text;
	struct plumb_barred {
		uint64_t start, end; /* 0: the kernel does not say */
		const char *name;
	} * all;
	size_t n;
	bool is_known; /* else it is empty, or has sections only */
};

/* All that a kernel tells of its functions. */
struct plumb_lists {
	struct plumb_symbols symbols;
	struct plumb_names traceable;
	bool traceable_was_read;
	struct plumb_blacklist blacklist;
};

/* Cuts a line of /proc/kallsyms, "ADDRESS TYPE NAME[\t[MODULE]]"; false: it is no code. */
bool plumb_symbol_cut(char *line, struct plumb_symbol *s);
/* kallsyms: 0, or -errno after saying what is wrong; of the kernel, or of TEXT, which it takes. */
int plumb_symbols_read(struct plumb_symbols *symbols);
int plumb_symbols_parse(struct plumb_symbols *symbols, char *text);
void plumb_symbols_free(struct plumb_symbols *symbols);
/* Not code that is gone once the kernel has booted (__init, __exit)? */
bool plumb_symbol_exists(const struct plumb_symbols *symbols, const struct plumb_symbol *s);
/* Made by compiler, linker or kernel beside the functions that have sources? */
bool plumb_symbol_is_internal(const struct plumb_symbol *s);
/*
 * Symbols of one address are neighbours; one without has no aliases.  Sets the
 * first, returns how many they are.
 */
size_t plumb_symbol_aliases(const struct plumb_symbols *symbols, struct plumb_symbol *s,
			    struct plumb_symbol **first);

/* The names of all functions that ftrace knows, if they can be read. */
void plumb_traceable_read(struct plumb_names *names);
bool plumb_names_have(const struct plumb_names *names, const char *name);
void plumb_names_free(struct plumb_names *names);

/* What kprobes must not touch; empty where it cannot be read. */
void plumb_blacklist_read(struct plumb_blacklist *list);
/* Of a kernel that is not running, by its symbols; 0 or -ENOMEM. */
int plumb_blacklist_derive(struct plumb_blacklist *list, const char *symbols);
bool plumb_blacklist_has(const struct plumb_blacklist *list, const struct plumb_symbol *s);
void plumb_blacklist_free(struct plumb_blacklist *list);

/*
 * traceability: the running kernel's lists, but for that of ftrace; 0, or -errno after saying what
 * is wrong.  That of ftrace, unless it was read.
 */
int plumb_lists_fill(struct plumb_lists *lists);
void plumb_lists_fill_traceable(struct plumb_lists *lists);
void plumb_lists_empty(struct plumb_lists *lists);
struct plumb_traceability plumb_lists_judge(const struct plumb_lists *lists,
					    struct plumb_symbol *s);

/* pattern: what was typed. */
struct plumb_pattern {
	const char *text;   /* all of it */
	const char *module; /* points into module_name; NULL: wherever it is */
	const char *name;
	size_t literal; /* the bytes before the first wildcard: nearly all symbols fail there */
	bool is_glob;
	char module_name[64];
};

void plumb_pattern_read(struct plumb_pattern *p, const char *text);
bool plumb_pattern_is_about(const struct plumb_pattern *p, const struct plumb_symbol *s);

/* Is the symbol in the glob; called so; what the compiler made of that name; a cold part of it? */
typedef bool plumb_matcher(const struct plumb_pattern *p, const struct plumb_symbol *s);
plumb_matcher plumb_pattern_globs, plumb_pattern_names, plumb_pattern_became, plumb_pattern_left;

/* traceability: is the pattern's module there; suggestions for it (plumb_suggest). */
bool plumb_lists_have_module(const struct plumb_lists *lists, const struct plumb_pattern *p);
void plumb_lists_suggest_for_pattern(const struct plumb_lists *lists, const struct plumb_pattern *p,
				     char *text, size_t size);

bool plumb_name_is_cold(const char *name);
/* No suffix, or one that does not touch the signature: foo.llvm.123. */
bool plumb_suffix_is_harmless(const char *name);

/* prototypes: fills btf, btf_id, btf_fd, result; 0, or -errno after saying what is wrong. */
int plumb_prototypes_read(struct plumb_functions *functions, const char *btf_file);
/* From BTF that somebody else has, and that is not this kernel's. */
int plumb_prototypes_from(struct plumb_functions *functions, const struct btf *btf);
void plumb_prototypes_free(struct plumb_functions *functions);

#endif
