/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * slower: a tool that with --slower prints each event of at least a time, instead of a table.  It
 * has a struct plumb_slower, PLUMB_SLOWER_OPTIONS among its options, and calls
 * plumb_slower_complete() in complete(); its ring buffer of records has plumb_slower_room() bytes.
 */
#pragma once

#include <plumb/core/tool.h>
#include <plumb/recorder/in-order.h>

struct plumb_slower {
	__u64 min_ns; /* shorter ones are not to be recorded */
	__u64 buffer; /* bytes; 0: the default */
	bool asked;   /* for records: --slower was given */
	struct plumb_in_order *records;
};

#define PLUMB_SLOWER_BUFFER (4U << 20) /* the default */

/* Of S, a variable of the tool, whose records are of each EVENT. */
/* clang-format off */
#define PLUMB_SLOWER_OPTIONS(s, event)                                                             \
	{"slower", 0, "TIME", "print each " event " that takes at least TIME, no table", 40,       \
	 .time = &(s).min_ns, .given = &(s).asked},                                                \
	{"buffer", 0, "BYTES", "size of the buffer for " event "s not yet printed; default 4M",    \
	 60, .size = &(s).buffer, .min = 4096, .max = 1 << 30}
/* clang-format on */

/* TOOL prints the records, if they are asked for.  Exits if O asks for a table, too. */
void plumb_slower_complete(const struct plumb_slower *s, struct plumb_tool *tool,
			   const struct plumb_options *o);
/* Without --slower the ring buffer is not used. */
static inline uint32_t plumb_slower_room(const struct plumb_slower *s)
{
	return s->asked ? s->buffer ?: PLUMB_SLOWER_BUFFER : 4096;
}
