/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * glob: names by patterns, matched by a BPF program as by a loader.
 *
 * All patterns together are one automaton of 64 states, a bit each.  A pattern of N
 * characters and classes has N + 1 states: so many of them have been seen.  A star is
 * a state that stays.  Each byte of a name moves all states at the same time.
 */
#ifndef PLUMB_BPF_GLOB_H
#define PLUMB_BPF_GLOB_H

#include <plumb/bpf/key/key.h>
#ifndef __bpf__
#include <stdbool.h>
#endif

struct plumb_globs {
	__u32 n; /* patterns */
	__u32 states;
	__u64 starts, stars, ends;
	__u64 bytes[256]; /* the states that each leads to */
};

/* Does one of the patterns match the name, of which A has the first eight bytes? */
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

#endif
