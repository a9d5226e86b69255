/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory: memory that a tool cannot go on without.  If there is none, these end the tool, after a
 * message; what it has attached ends with its descriptors.  Not for sizes that a file claims.
 */
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>

static inline void *plumb_required(void *memory)
{
	if (memory)
		return memory;
	plumb_divert(NULL, 0);
	plumb_error(ENOMEM, "no memory");
	exit(EXIT_FAILURE);
}

/* N zeroed elements of SIZE bytes, at least one. */
static inline void *plumb_zeroed(size_t n, size_t size)
{
	return plumb_required(calloc(n ?: 1, size));
}

static inline char *plumb_copied(const char *text)
{
	return plumb_required(strdup(text));
}

/* The text by the FORMAT of printf(). */
__attribute__((format(printf, 1, 2))) static inline char *plumb_text(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	return plumb_required(n < 0 ? NULL : text);
}

/* LIST, which has N elements of SIZE bytes, with room for one more; doubled at powers of two. */
static inline void *plumb_grow(void *list, size_t n, size_t size)
{
	return n & (n - 1) ? list : plumb_required(reallocarray(list, n ? 2 * n : 1, size));
}

/* Adds an element to a list that grows by nothing else; a pointer to it, to be set. */
#define plumb_append(list, n)                                                                      \
	({                                                                                         \
		(list) = plumb_grow((list), (n), sizeof(*(list)));                                 \
		&(list)[(n)++];                                                                    \
	})
