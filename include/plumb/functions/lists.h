/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lists: declarations that the parts of functions.h share.  kallsyms.c reads the kernel's lists,
 * traceability.c evaluates them for a function, pattern.c matches names with the user's pattern,
 * functions-find.c selects the functions, and prototypes.c reads their types.
 */
#pragma once

#include <plumb/functions/functions.h>
#include <plumb/functions/traceability.h>
#include <plumb/kernel/types.h>

/* A symbol of executable code. */
struct plumb_symbol {
	char *name;
	const char *module; /* NULL: the kernel itself */
	uint64_t address;
	char type; /* t: local; T: global; w, W: weak */
	bool taken;
};

/* The symbols of /proc/kallsyms: the kernel's by address, then the modules' by address. */
struct plumb_symbols {
	char *text; /* storage of the names */
	struct plumb_symbol *all;
	size_t n;
	uint64_t start, end; /* of the kernel's code; 0: not known */
};

/* A hash table of names. */
struct plumb_names {
	char *text;
	const char **slots; /* NULL: the list could not be read */
	size_t mask;
};

struct plumb_blacklist {
	char *text;
	struct plumb_barred {
		uint64_t start, end; /* 0: hidden by the kernel (kernel.kptr_restrict) */
		const char *name;
	} * all;
	size_t n;
	bool is_known; /* false: the list is empty, or has only sections */
};

/* The lists of its functions that a kernel exports. */
struct plumb_lists {
	struct plumb_symbols symbols;
	struct plumb_names traceable;
	bool traceable_was_read;
	struct plumb_blacklist blacklist;
};

/* Splits a line of /proc/kallsyms, "ADDRESS TYPE NAME[\t[MODULE]]"; false: not a code symbol. */
bool plumb_symbol_cut(char *line, struct plumb_symbol *s);
/* Reads the symbols of the running kernel.  Returns 0, or -errno after a message. */
int plumb_symbols_read(struct plumb_symbols *symbols);
/* The same of TEXT, which must be malloc'd and is then owned by SYMBOLS. */
void plumb_symbols_parse(struct plumb_symbols *symbols, char *text);
void plumb_symbols_free(struct plumb_symbols *symbols);
/* False for code that the kernel frees after boot (__init, __exit). */
bool plumb_symbol_exists(const struct plumb_symbols *symbols, const struct plumb_symbol *s);
/* True for symbols that compiler, linker or kernel generate, which have no source function. */
bool plumb_symbol_is_internal(const struct plumb_symbol *s);
/*
 * The aliases of S: the symbols of its address, which are adjacent.  A symbol without an address
 * has no aliases.  Sets *FIRST and returns their number, S included.
 */
size_t plumb_symbol_aliases(const struct plumb_symbols *symbols, struct plumb_symbol *s,
			    struct plumb_symbol **first);

/* The names of all functions that ftrace can trace; slots is NULL if the list cannot be read. */
void plumb_traceable_read(struct plumb_names *names);
bool plumb_names_have(const struct plumb_names *names, const char *name);
void plumb_names_free(struct plumb_names *names);

/* The functions that the kernel refuses kprobes on; empty if the list cannot be read. */
void plumb_blacklist_read(struct plumb_blacklist *list);
/* The same of a kernel that is not running, derived from its symbols. */
void plumb_blacklist_derive(struct plumb_blacklist *list, const char *symbols);
bool plumb_blacklist_has(const struct plumb_blacklist *list, const struct plumb_symbol *s);
void plumb_blacklist_free(struct plumb_blacklist *list);

/*
 * traceability.c: plumb_lists_fill() reads the running kernel's lists except ftrace's, and returns
 * 0, or -errno after a message.  plumb_lists_fill_traceable() reads ftrace's, once.
 */
int plumb_lists_fill(struct plumb_lists *lists);
void plumb_lists_fill_traceable(struct plumb_lists *lists);
void plumb_lists_empty(struct plumb_lists *lists);
struct plumb_traceability plumb_lists_judge(const struct plumb_lists *lists,
					    struct plumb_symbol *s);

/* pattern.c: a name or glob that the user typed. */
struct plumb_pattern {
	const char *text;   /* all of it */
	const char *module; /* points into module_name; NULL: any module, or the kernel */
	const char *name;
	size_t literal; /* bytes before the first wildcard; comparing them rejects most symbols */
	bool is_glob;
	char module_name[64];
};

void plumb_pattern_read(struct plumb_pattern *p, const char *text);
bool plumb_pattern_is_about(const struct plumb_pattern *p, const struct plumb_symbol *s);

/*
 * True if the symbol matches the glob; has the name; is a copy of the function that the compiler
 * made (foo.isra.0); is a cold part of the function (foo.cold).
 */
typedef bool plumb_matcher(const struct plumb_pattern *p, const struct plumb_symbol *s);
plumb_matcher plumb_pattern_globs, plumb_pattern_names, plumb_pattern_became, plumb_pattern_left;

/* traceability.c: whether the pattern's module is loaded; suggestions for it (plumb_suggest). */
bool plumb_lists_have_module(const struct plumb_lists *lists, const struct plumb_pattern *p);
void plumb_lists_suggest_for_pattern(const struct plumb_lists *lists, const struct plumb_pattern *p,
				     char *text, size_t size);

bool plumb_name_is_cold(const char *name);
/* True for a name without a suffix, or with one that keeps the signature: foo.llvm.123. */
bool plumb_suffix_is_harmless(const char *name);

/* prototypes.c: fills btf, btf_id, btf_fd and result.  Returns 0, or -errno after a message. */
int plumb_prototypes_read(struct plumb_functions *functions, const char *btf_file);
/* The same from BTF of another kernel, which the caller owns. */
void plumb_prototypes_from(struct plumb_functions *functions, const struct btf *btf);
void plumb_prototypes_free(struct plumb_functions *functions);
