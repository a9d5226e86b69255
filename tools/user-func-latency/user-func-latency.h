/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of user-func-latency. */
#pragma once

#include <plumb/bpf/key/key.h>

/* Keys that the tool adds to --by. */
#define USER_FUNC_BY_FUNC  (PLUMB_BY_TOOL << 0)
#define USER_FUNC_BY_FILE  (PLUMB_BY_TOOL << 1)
#define USER_FUNC_BY_ARG   (PLUMB_BY_TOOL << 2)
#define USER_FUNC_BY_RET   (PLUMB_BY_TOOL << 3)
#define USER_FUNC_BY_ERRNO (PLUMB_BY_TOOL << 4)

struct user_func_key {
	struct plumb_who who;
	__u32 function; /* index in the list of targets */
	__u32 build;    /* index in the list of builds (plumb/user/builds.h) */
	__u64 arg;      /* shifted right by plumb_arg.shift */
	__s64 ret;
	__u32 error; /* positive errno, 0 for success */
	__u32 pad;
};
_Static_assert(sizeof(struct user_func_key) == 88, "no hidden padding in a hash key");
