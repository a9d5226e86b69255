/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * parts: the one table of what is plugged into the core (part.h), in the order in which it is
 * called; PARTS of the Makefile names them.
 */
#include <stddef.h>
#include <plumb/core/part.h>

#define PART(name) extern const struct plumb_part plumb_##name##_part;
#include "parts.inc"
#undef PART

const struct plumb_part *const plumb_parts[] = {
#define PART(name) &plumb_##name##_part,
#include "parts.inc"
	NULL,
};
