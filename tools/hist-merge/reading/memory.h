/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory: there is no report without it, so allocations are not followed by errors. */
#pragma once

#include <stdlib.h>

static inline void *get(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/* ALL, an array with room for *ROOM elements, with room for one more than N. */
static inline void *room_for_one(void *all, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return all;
	*room = *room * 2 ?: 64;
	return get(reallocarray(all, *room, size));
}
