/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of tcp-retransmits. */
#pragma once

#include <plumb/bpf/net/ends.h>

/* Keys that the tool adds to --by, besides those of bpf/net/ends.h. */
#define RESENT_BY_STATE (TCP_BY_TOOL << 0)
#define RESENT_BY_KIND  (TCP_BY_TOOL << 1)
#define RESENT_BY_DROP  (TCP_BY_TOOL << 2)

enum resent_kind {
	RESENT_TIMEOUT,       /* the timer of the oldest segment */
	RESENT_AFTER_TIMEOUT, /* what else was lost then, as acknowledgements come in */
	RESENT_FAST,          /* acknowledgements of later segments */
	RESENT_PROBE,         /* tail loss probe */
	RESENT_SYN,
	RESENT_SYNACK,
	RESENT_OTHER,
	RESENT_KINDS,
};

struct resent_key {
	struct plumb_who who; /* that connected, accepted or listens */
	struct tcp_ends ends;
	__u64 drop; /* enum skb_drop_reason; or the address that dropped; 0: none was seen */
	__u32 state, kind;
};
_Static_assert(sizeof(struct resent_key) == 112, "no hidden padding in a hash key");

/* The loader tells them apart: reasons have 32 bits, addresses of the kernel more. */
#define RESENT_IS_ADDRESS(drop) ((drop) >> 32)

/* A segment that this host dropped. */
struct resent_drop {
	__u64 id; /* made of addresses and ports; 0: none */
	__u64 why, time;
	__u32 seq, length;
	__u32 sent;     /* of these bytes, how many were retransmitted since */
	__u32 received; /* 1: TCP had it, so that it can be a copy */
};
_Static_assert(sizeof(struct resent_drop) == 40, "no hidden padding");

/* What it means that a segment is freed for a reason. */
enum resent_verdict {
	RESENT_LOSS,
	RESENT_AMBIGUOUS, /* TCP's: of a copy of what it has, nothing is lost */
	RESENT_COPY,      /* of a copy only */
};

#define RESENT_REASONS   512 /* above, those of other subsystems */
#define RESENT_COPY_BITS 14

/* Drops that are kept: the latest of each set, to which connections belong by their id. */
#define RESENT_SET_BITS 9
#define RESENT_WAY_BITS 6
#define RESENT_DROPS    (1 << (RESENT_SET_BITS + RESENT_WAY_BITS))
