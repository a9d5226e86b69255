/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tracepoints: from a name or a glob to the kernel's tracepoints.
 *
 * The list is the kernel's own, in tracefs.  Where that is not mounted a mount
 * is made that has no place in any directory and ends with its descriptor: no
 * one else sees it, nothing is left behind.
 */
#ifndef PLUMB_TRACEPOINTS_H
#define PLUMB_TRACEPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_tracepoint {
	char *category, *name;
	uint32_t id; /* perf_event_attr.config of PERF_TYPE_TRACEPOINT */
	/*
	 * A raw tracepoint of this name exists too, which costs less.  The
	 * events of single system calls (syscalls:*) have none.  Known from
	 * the BTF in /sys/kernel/btf; false where there is none.
	 */
	bool is_raw;
	bool by_number; /* counted at raw_syscalls:*, nothing is attached to it itself */
};

struct plumb_tracepoints {
	struct plumb_tracepoint *list;
	size_t n;
};

/*
 * A descriptor of tracefs' root for openat(), the caller's, or -errno after saying why not;
 * the second without saying it.
 */
int plumb_tracefs_open(void);
int plumb_tracefs_try(void);

/* Whether tracefs is where libbpf looks for it, and this process may not read it. */
bool plumb_tracefs_is_denied(void);

/*
 * The tracepoints that PATTERN, "CATEGORY:NAME" with globs in either, stands
 * for, in the kernel's order.  Returns 0 with one at least, or -errno after
 * saying what is wrong, with suggestions; FOUND is empty then.
 */
int plumb_tracepoints_find(int tracefs, const char *pattern, struct plumb_tracepoints *found);
void plumb_tracepoints_free(struct plumb_tracepoints *found);

#endif
