/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <plumb/stacks/stacks.h>

#define START 40 /* of its name */

/* Where programs and threads begin, of glibc and musl, outermost first. */
static const char *const entries[] = {"_start",   "__libc_start*", "libc_start_main_*", "clone*",
				      "__clone*", "start_thread",  "thread_start",      NULL};
/* What C++ and Rust have between these and the function that the program names. */
static const char *const wrappers[] = {"execute_native_thread_routine",
				       "std::*",
				       "core::ops::*",
				       "<alloc::boxed::Box*",
				       "*.so*+0x*",
				       "[[]*",
				       NULL};

static bool is_any(const char *name, const char *const *patterns)
{
	while (*patterns && fnmatch(*patterns, name, 0))
		patterns++;
	return *patterns;
}

const char *plumb_frames_start(const struct plumb_frames *f)
{
	size_t i = f->n;

	while (i > f->n_kernel && is_any(f->text[i - 1], entries))
		i--;
	if (i == f->n)
		return NULL;
	while (i > f->n_kernel && is_any(f->text[i - 1], wrappers))
		i--;
	return i > f->n_kernel ? f->text[i - 1] : NULL;
}

const char *plumb_start_text(const char *start, const char *comm, char *text, size_t size)
{
	const int n = strcspn(start, "("); /* without the arguments */

	*text = 0;
	if (*start && strcmp(start, "main") != 0 && strncmp(start, comm, strlen(comm)) != 0)
		snprintf(text, size, " (%.*s)", n && n < START ? n : START, start);
	return text;
}
