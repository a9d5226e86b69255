/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * snapshot: what programs rely on in a kernel, as a file: the prototypes of functions
 * and the fields of tracepoints.
 *
 * {"functions": {"tcp_sendmsg": {"arguments": ["struct sock *sk", ...], "returns": "int"}},
 *  "tracepoints": {"sched:sched_switch": [{"name", "type", "offset", "size", "signed"}, ...]},
 *  "arch", "kernel", "schema", "tool": ...}
 *
 * A function without types is {}.  What is not a running kernel has no "tracepoints"; types
 * alone are of no kernel or architecture that is known: these are "" then.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include <jansson.h>

#include "kernel.h"

/* Of these functions, those that the kernel lacks left out; NULL after saying what is wrong. */
json_t *snapshot_take(const struct kernel *k, const char *const *functions, size_t n);

/* Whole, or not at all (replace.h); 0 or -errno after saying what is wrong. */
int snapshot_write(const json_t *snapshot, const char *path);

/* NULL after saying what is wrong: what it returns has the form above. */
json_t *snapshot_read(const char *path);

/* The two kernels' tracepoints can be compared only if both have them. */
typedef void snapshot_difference(void *context, const char *target, const char *what);
void snapshot_compare(const json_t *was, const json_t *is, snapshot_difference *tell,
		      void *context);

#endif
