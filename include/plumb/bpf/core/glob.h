/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * glob: matches names with patterns, in a BPF program or a loader.
 *
 * All patterns together are one nondeterministic automaton with at most 64 states, one bit each.  A
 * pattern of N characters and classes has N + 1 states: the number of them that have matched.  A
 * star is a state that loops to itself.  Each byte of a name advances all states in parallel.
 */
#pragma once

#include <plumb/bpf/key/key.h>
#ifndef __bpf__
#include <stdbool.h>
#endif

struct plumb_globs {
	__u32 n; /* patterns */
	__u32 states;
	__u64 starts, stars, ends;
	__u64 bytes[256]; /* the states that each byte leads to */
};

/* True if one of the patterns matches the name, whose first eight bytes are A, the next B. */
static inline __attribute__((always_inline)) bool
plumb_globs_match(const volatile struct plumb_globs *g, __u64 a, __u64 b)
{
	__u64 states = g->starts;
	int i;

	for (i = 0; i < PLUMB_COMM_LEN && (a & 0xff); i++) {
		states = (states << 1 & g->bytes[a & 0xff]) | (states & g->stars);
		a = a >> 8 | b << 56;
		b >>= 8;
	}
	return states & g->ends;
}
