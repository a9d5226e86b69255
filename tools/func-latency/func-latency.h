/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the loader and the programs of func-latency agree on. */
#ifndef FUNC_LATENCY_H
#define FUNC_LATENCY_H

#include <plumb/bpf/key/key.h>

/* What it adds to --by. */
#define FUNC_LATENCY_BY_FUNC  (PLUMB_BY_TOOL << 0)
#define FUNC_LATENCY_BY_ARG   (PLUMB_BY_TOOL << 1)
#define FUNC_LATENCY_BY_RET   (PLUMB_BY_TOOL << 2)
#define FUNC_LATENCY_BY_ERRNO (PLUMB_BY_TOOL << 3)

struct func_latency_key {
	struct plumb_who who;
	__u32 function; /* its number on the command line */
	__u32 error;    /* positive errno, 0 for success */
	__u64 arg;      /* shifted */
	__u64 ret;
};
_Static_assert(sizeof(struct func_latency_key) == 80, "no hidden padding in a hash key");

#define FUNC_LATENCY_NO_ARG 0x7f

/* The argument that is a key. */
struct func_latency_arg {
	__u32 position;
	__u32 bits;
	__u32 is_signed;
	__u32 shift;
};

#endif
