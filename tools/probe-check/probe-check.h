/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of probe-check. */
#pragma once

#include <plumb/bpf/core/types.h>

/* Number of counters, one for each CPU number modulo 64.  Each has its own cache line. */
#define FIRES 64

struct fires {
	__u64 n;
	__u64 pad[7];
};
_Static_assert(sizeof(struct fires) == 64, "CPUs do not share a cache line");
