/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of cache-hit. */
#pragma once

#include <plumb/bpf/syscall/syscall.h>

/* What the arguments of a call say: bits of cache_calls. */
#define CACHE_POSITION 1 /* the fourth is the position in the file */
#define CACHE_VECTOR   2 /* the third is a number of buffers, not of bytes */
#define CACHE_WRITE    4
#define CACHE_CALL     8 /* it reads or writes */

/* In plumb_totals.counters: pages. */
enum { CACHE_HITS, CACHE_MISSES, CACHE_AHEAD };
