/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "stacks.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define START      40 /* of its name */
#define IN_LIBRARY 4  /* frames, from the system call on */

/* Where threads begin, and main() is called, of glibc and musl. */
static const char *const entries[] = {
	"_start", "__libc_start*", "libc_start_main_*", "clone*", "__clone*", "start_thread", NULL};
/* What is between these and the function that the program has named. */
static const char *const wrappers[] = {"execute_native_thread_routine", "*.so*+0x*", "std::*",
				       "void std::*", NULL};
/* As many languages have it: what it calls is not told by its name. */
static const char *const runtimes[] = {"[[]*",  "pythread_wrapper", "*thread_start*",
				       "_dl_*", "__pthread_once*",  "runtime.*",
				       NULL};

static bool is_any(const char *name, const char *const *patterns)
{
	while (*patterns && fnmatch(*patterns, name, 0))
		patterns++;
	return *patterns;
}

/* Rust keeps this function for those who read stacks: the next one is the program's. */
static const char *rust_start(const struct plumb_frames *f)
{
	for (size_t i = f->n; i-- > f->n_kernel + 1;)
		if (strstr(f->text[i], "__rust_begin_short_backtrace"))
			return f->text[i - 1];
	return NULL;
}

const char *plumb_frames_start(const struct plumb_frames *f)
{
	const char *rust = rust_start(f), *last = "";
	size_t i = f->n, outermost;

	/* That of a stripped program has no name. */
	if (i > f->n_kernel + 1 && !fnmatch("__libc_start*", f->text[i - 2], 0))
		i--;
	while (i > f->n_kernel && is_any(f->text[i - 1], entries))
		i--;
	/* The dynamic linker has a _start of its own. */
	if (!f->is_whole || i == f->n || (i + 1 == f->n && !strcmp(f->text[i], "_start")))
		return NULL;
	if (rust)
		return rust;
	for (outermost = i; i > f->n_kernel && is_any(f->text[i - 1], wrappers); i--)
		last = f->text[i - 1];
	/*
	 * Of C++'s library only this one is sure to call a function of the program: others contain
	 * it, if it is inlined, and call what it calls.
	 */
	if (i < outermost && strstr(last, "std::") && !strstr(last, "std::__invoke_impl"))
		return NULL;
	return i > f->n_kernel && !is_any(f->text[i - 1], runtimes) ? f->text[i - 1] : NULL;
}

bool plumb_frames_are_in_rwlock(const struct plumb_frames *f)
{
	for (size_t i = f->n_kernel; i < f->n && i < f->n_kernel + IN_LIBRARY; i++)
		if (strstr(f->text[i], "pthread_rwlock_"))
			return true;
	return false;
}

const char *plumb_start_text(const char *start, const char *comm, char *text, size_t size)
{
	const int n = strcspn(start, "("); /* without the arguments */

	*text = 0;
	if (*start && strcmp(start, "main") != 0 && strncmp(start, comm, strlen(comm)) != 0)
		snprintf(text, size, " (%.*s)", n && n < START ? n : START, start);
	return text;
}
