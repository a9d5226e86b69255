/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of func-count. */
#pragma once

#include <plumb/bpf/key/key.h>

/* If the target is the only key, target N has slot N + 1. */
struct func_count_key {
	struct plumb_who who;
	__u32 target; /* its number */
	__u32 pad;
};
_Static_assert(sizeof(struct func_count_key) == 64, "no hidden padding in a hash key");
