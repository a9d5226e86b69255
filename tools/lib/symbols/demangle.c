// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <plumb/symbols/demangle.h>

#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else /* Fedora's binutils-devel */
#include <demangle.h>
#endif
#include <setjmp.h>
#include <string.h>

/* Output of libiberty, as far as there is space for it. */
struct output {
	char *text;
	size_t n, size;
	jmp_buf full;
};

/*
 * A few hundred bytes can expand to more than any memory holds, so a full buffer ends demangling.
 */
static void append(const char *part, size_t length, void *context)
{
	struct output *o = context;
	size_t room = o->size - 1 - o->n, n = length < room ? length : room;

	memcpy(o->text + o->n, part, n);
	o->n += n;
	o->text[o->n] = 0;
	if (n < length)
		longjmp(o->full, 1);
}

typedef int demangler(const char *name, int options, demangle_callbackref callback, void *context);

static bool demangle(demangler *how, const char *name, int options, char *text, size_t size)
{
	struct output o = {.text = text, .size = size};

	*text = 0;
	return setjmp(o.full) || how(name, options, append, &o);
}

static bool demangle_to(const char *name, int options, char *text, size_t size)
{
	char plain[2048];              /* libiberty accepts names of half that length */
	size_t n = strcspn(name, "@"); /* the symbol's version */

	if (n < sizeof(plain) && (!strncmp(name, "_R", 2) || !strncmp(name, "_Z", 2))) {
		memcpy(plain, name, n);
		plain[n] = 0;
		/* Rust's older names are also valid C++ names. */
		if (demangle(rust_demangle_callback, plain, options, text, size) ||
		    demangle(cplus_demangle_v3_callback, plain, options, text, size))
			return true;
	}
	n = n < size ? n : size - 1;
	memcpy(text, name, n);
	text[n] = 0;
	return false;
}

bool plumb_demangle(const char *name, char *text, size_t size)
{
	return demangle_to(name, DMGL_PARAMS | DMGL_ANSI, text, size);
}

bool plumb_demangle_function(const char *name, bool parameters, char *text, size_t size)
{
	return demangle_to(name, parameters ? DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP : 0, text,
			   size);
}
