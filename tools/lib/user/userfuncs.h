/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * userfuncs: declarations that its parts share.  userfuncs-match.c compares symbols with a pattern,
 * userfuncs-names.c names what was found, userfuncs-code.c looks at its instructions, and
 * userfuncs-complain.c explains why nothing was found.
 */
#pragma once

#include <plumb/symbols/usersyms.h>
#include <plumb/user/userfuncs.h>

/* Longer demangled names are cut to this size. */
#define PLUMB_DEMANGLED 4096

struct plumb_userfunc_pattern {
	char *name;     /* a name or glob */
	char *version;  /* NULL: any */
	uint64_t start; /* OFFSET */
};

/* Parses FUNCTION[@VERSION][+OFFSET].  The caller frees `name`; `version` is in it. */
void plumb_userfunc_parse(const char *text, struct plumb_userfunc_pattern *p);
bool plumb_userfunc_matches(const struct plumb_userfunc_pattern *p, const struct plumb_usersym *s);

/*
 * The length of the symbol's name without what compilers append to parts and clones of a function,
 * as ".part.0", ".isra.0", ".constprop.0" or ".cold".
 */
size_t plumb_userfunc_stem(const struct plumb_usersym *s);
/* Whether the symbol is a part that is entered by a jump. */
bool plumb_userfunc_is_cold(const struct plumb_usersym *s);

/* Whether the function depends on its return address, which a return probe replaces: by its name.
 */
bool plumb_userfunc_keeps_return(const struct plumb_usersym *s);
/* Whether the C library's function so named calls functions that it is given. */
bool plumb_userfunc_calls_back(const struct plumb_usersym *s);

/* Writes the name for people.  FULL: with parameters. */
void plumb_userfunc_show(const struct plumb_usersym *s, bool full, char *text, size_t size);

/* A function that was found, and the symbol that matched. */
struct plumb_userfunc_match {
	const struct plumb_usersym *symbol;
	size_t first, n; /* all symbols at its offset */
};

/* Sets name and aliases of the functions of FOUND, which are those of MATCHES. */
void plumb_userfuncs_name(const struct plumb_usersyms *syms, const struct plumb_userfunc_pattern *p,
			  const struct plumb_userfunc_match *matches,
			  struct plumb_userfuncs *found);

/*
 * Moves the functions found by START bytes, and finds their obstacles and, in a Go program or if
 * RETURNS is set, their returns, also those in their cold parts.  SYMS has these; NULL: they are
 * not known.  Returns 0, or -errno after a message.
 */
int plumb_userfuncs_inspect(const struct plumb_elf *file, const struct plumb_usersyms *syms,
			    uint64_t start, bool returns, struct plumb_userfuncs *found);

/* Whether an instruction begins at OFFSET, decoded from START, where one does. */
bool plumb_userfuncs_is_instruction(const struct plumb_elf *file, uint64_t start, uint64_t offset);
/* Whether OFFSET is inside an instruction; also false if that is not known. */
bool plumb_userfuncs_is_inside(const struct plumb_elf *file, uint64_t start, uint64_t offset);
/* Finds those whose symbol points inside an instruction: an obstacle. */
void plumb_userfuncs_check_starts(const struct plumb_elf *file, struct plumb_userfuncs *found);

/* Prints why nothing matches; returns -errno. */
int plumb_userfuncs_complain(const struct plumb_usersyms *syms, const char *path,
			     const struct plumb_userfunc_pattern *p, bool is_go);
/* Warns of parts and clones of the function that was found by its NAME. */
void plumb_userfuncs_mention_clones(const struct plumb_usersyms *syms, const char *path,
				    const char *name);
