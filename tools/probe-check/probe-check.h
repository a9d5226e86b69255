/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the loader and the programs of probe-check agree on. */
#ifndef PROBE_CHECK_H
#define PROBE_CHECK_H

#include <plumb/bpf/core/types.h>

/* Counters by CPU, a cache line each. */
#define FIRES 64

struct fires {
	__u64 n;
	__u64 pad[7];
};
_Static_assert(sizeof(struct fires) == 64, "CPUs do not share a cache line");

#endif
