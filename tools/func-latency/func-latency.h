/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of func-latency. */
#pragma once

#include <plumb/bpf/key/key.h>

/* Keys that the tool adds to --by. */
#define FUNC_LATENCY_BY_FUNC  (PLUMB_BY_TOOL << 0)
#define FUNC_LATENCY_BY_ARG   (PLUMB_BY_TOOL << 1)
#define FUNC_LATENCY_BY_RET   (PLUMB_BY_TOOL << 2)
#define FUNC_LATENCY_BY_ERRNO (PLUMB_BY_TOOL << 3)

struct func_latency_key {
	struct plumb_who who;
	__u32 function; /* index in the list of traced functions */
	__u32 error;    /* positive errno, 0 for success */
	__u64 arg;      /* shifted right by plumb_arg.shift */
	__u64 ret;
};
_Static_assert(sizeof(struct func_latency_key) == 80, "no hidden padding in a hash key");
