/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of skb-alloc. */
#pragma once

#include <plumb/bpf/key/key.h>

/* The key that the tool adds to --by. */
#define SKB_ALLOC_BY_CONTAINER (PLUMB_BY_TOOL << 0)

struct skb_alloc_key {
	struct plumb_who who;
	__u64 container; /* id of the cgroup whose path names it */
};
_Static_assert(sizeof(struct skb_alloc_key) == 64, "no hidden padding in a hash key");
