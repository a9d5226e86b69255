/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * state-copies: which of the copies of a program on inet_sock_set_state (core/copies.bpf.h) does
 * the work: the first that the kernel does not skip.  It leaves a mark, by which the others know.
 */
#pragma once

#include <plumb/bpf/core/copies.bpf.h>
#include <plumb/bpf/core/ledger.bpf.h>

#define STATE_MARK_BITS 14

/*
 * The latest change of a socket, by its address: its lock is held, so its changes come one after
 * the other, and no two that follow each other are the same.
 */
static __u64 state_marks[1 << STATE_MARK_BITS] = {};

/* Whether an earlier copy has seen this change; else this one does, and counts that it made up for
 * it. */
static __always_inline bool state_is_done(__u64 sk, __u32 from, __u32 to, __u32 copy)
{
	__u64 at = sk * 0x9e3779b97f4a7c15ULL >> (64 - STATE_MARK_BITS); /* Knuth, vol. 3, 6.4 */
	__u64 change = sk << 8 | from << 4 | to, *mark;

	barrier_var(at); /* keeps the mask last, which the verifier of 5.10 needs */
	mark = &state_marks[at & ((1 << STATE_MARK_BITS) - 1)];
	if (copy && *mark == change)
		return true;
	*mark = change;
	if (copy)
		ledger_count(bpf_get_smp_processor_id(), rescued);
	return false;
}
