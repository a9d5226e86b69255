/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tracepoints: finds the kernel's tracepoints by name or glob.
 *
 * The list is read from tracefs (tracefs.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/kernel/tracefs.h>

struct plumb_tracepoint {
	char *category, *name;
	uint32_t id; /* perf_event_attr.config of PERF_TYPE_TRACEPOINT */
	/*
	 * A raw tracepoint of this name exists too, which costs less.  The events of single system
	 * calls (syscalls:*) have none.  Read from /sys/kernel/btf; false if there is no BTF.
	 */
	bool is_raw;
	bool by_number; /* traced at raw_syscalls:* and selected there by the call's number */
};

struct plumb_tracepoints {
	struct plumb_tracepoint *list;
	size_t n;
};

/*
 * The tracepoints that match PATTERN, "CATEGORY:NAME" where both may be globs, in the kernel's
 * order.  Returns 0 with at least one, or -errno after a message with suggestions; FOUND is empty
 * then.
 */
int plumb_tracepoints_find(int tracefs, const char *pattern, struct plumb_tracepoints *found);
void plumb_tracepoints_free(struct plumb_tracepoints *found);
