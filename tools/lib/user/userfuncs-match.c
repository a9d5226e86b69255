/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "userfuncs.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/demangle.h>

/* Cuts "+OFFSET" off TEXT; the operator+ of C++ is no offset. */
static uint64_t cut_offset(char *text)
{
	char *plus = strrchr(text, '+'), *end;
	uint64_t offset;

	if (!plus || plus == text || plus[1] < '0' || plus[1] > '9')
		return 0;
	errno = 0;
	offset = strtoull(plus + 1, &end, plus[1] == '0' && (plus[2] | 32) == 'x' ? 16 : 10);
	if (*end || errno)
		return 0;
	*plus = 0;
	return offset;
}

void plumb_userfunc_parse(const char *text, struct plumb_userfunc_pattern *p)
{
	char *at;

	*p = (struct plumb_userfunc_pattern){.name = plumb_copied(text)};
	p->start = cut_offset(p->name);
	at = strchr(p->name, '@');
	if (at && at != p->name && at[1 + (at[1] == '@')]) {
		p->version = at + 1 + (at[1] == '@');
		*at = 0;
	}
}

/* A name always matches itself, since names of Go and C++ contain brackets. */
static bool is_like(const char *pattern, const char *text)
{
	return !strcmp(pattern, text) || !fnmatch(pattern, text, 0);
}

/* Compilers append these, with or without a number, to the names of parts and clones. */
static const char *const appended[] = {".cold", ".part", ".constprop", ".isra"};

size_t plumb_userfunc_stem(const struct plumb_usersym *s)
{
	for (size_t at = 1; at < s->length; at++)
		for (size_t i = 0; s->name[at] == '.' && i < sizeof(appended) / sizeof(*appended);
		     i++) {
			size_t n = strlen(appended[i]);

			if (!strncmp(s->name + at, appended[i], n) &&
			    (at + n == s->length || s->name[at + n] == '.'))
				return at;
		}
	return s->length;
}

bool plumb_userfunc_is_cold(const struct plumb_usersym *s)
{
	size_t stem = plumb_userfunc_stem(s);
	const char *cold = memmem(s->name + stem, s->length - stem, ".cold", 5);

	return cold && (cold + 5 == s->name + s->length || cold[5] == '.');
}

/* Whether one of N patterns is the symbol's name. */
static bool is_one_of(const char *const *names, size_t n, const struct plumb_usersym *s)
{
	char name[64];

	if (s->length >= sizeof(name))
		return false;
	memcpy(name, s->name, s->length);
	name[s->length] = 0;
	for (size_t i = 0; i < n; i++)
		if (!fnmatch(names[i], name, 0))
			return true;
	return false;
}

bool plumb_userfunc_calls_back(const struct plumb_usersym *s)
{
	static const char *const names[] = {
		"*qsort*",          "*msort*",        "*bsearch*", "*lfind*",
		"*lsearch*",        "*tsearch",       "*tfind",    "*tdelete",
		"*twalk*",          "*trecurse*",     "*ftw*",     "*scandir*",
		"*tdestroy",        "glob",           "glob64",    "*glob_in_dir*",
		"*dl_iterate_phdr", "*pthread_once*", "call_once", "*argp_parse",
		"*parser_parse*",   "fts_*",          "fts64_*"};

	return is_one_of(names, sizeof(names) / sizeof(*names), s);
}

/* On x86 the code tells of many of these, too (code-return.c); on arm64 their names alone do. */
bool plumb_userfunc_keeps_return(const struct plumb_usersym *s)
{
	static const char *const names[] = {
		/* They store it, and the program returns there again. */
		"setjmp", "_setjmp", "__setjmp", "sigsetjmp", "__sigsetjmp", "savectx",
		"getcontext", "__getcontext", "swapcontext", "__swapcontext",
		/* They return twice, on one stack. */
		"vfork", "__vfork", "__libc_vfork",
		/* They ask who calls. */
		"dlsym", "dlvsym", "dlopen", "dlmopen", "mcount", "_mcount", "__mcount",
		"__fentry__", "__gnu_mcount_nc", "__x86.get_pc_thunk.*", "__i686.get_pc_thunk.*",
		"__morestack", "backtrace", "__backtrace",
		/* They unwind the stack, or do not return but by that. */
		"_Unwind_*", "__gcc_personality_v0", "__pthread_unwind*", "pthread_exit",
		"__pthread_exit", "__do_cancel", "*pthread_testcancel", "*syscall_cancel*",
		"*enable_asynccancel", "sigcancel_handler",
		/* They are not called: something else is where a return address would be. */
		"_start", "_dl_start_user", "__start_context", "__restore_rt", "__restore",
		"_dl_runtime_resolve*", "_dl_runtime_profile*", "_dl_tlsdesc_*",
		"__x86_indirect_thunk_*", "__llvm_retpoline_*"};

	return is_one_of(names, sizeof(names) / sizeof(*names), s);
}

void plumb_userfunc_show(const struct plumb_usersym *s, bool full, char *text, size_t size)
{
	size_t stem = plumb_userfunc_stem(s), n;
	char *mangled = plumb_text("%.*s", (int)stem, s->name);

	plumb_demangle_function(mangled, full, text, size);
	n = strlen(text);
	if (s->length - stem < size - n) {
		memcpy(text + n, s->name + stem, s->length - stem);
		text[n + s->length - stem] = 0;
	}
	free(mangled);
}

static bool matches_name(const char *pattern, const struct plumb_usersym *s)
{
	char *name = plumb_text("%.*s", (int)s->length, s->name), text[PLUMB_DEMANGLED];
	bool is = is_like(pattern, name);

	if (!is && (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2))) {
		plumb_userfunc_show(s, false, text, sizeof(text));
		is = is_like(pattern, text);
		if (!is && strchr(pattern, '(')) {
			plumb_userfunc_show(s, true, text, sizeof(text));
			is = is_like(pattern, text);
		}
	}
	free(name);
	return is;
}

bool plumb_userfunc_matches(const struct plumb_userfunc_pattern *p, const struct plumb_usersym *s)
{
	if (p->version && (!s->version || !is_like(p->version, s->version)))
		return false;
	return matches_name(p->name, s);
}
