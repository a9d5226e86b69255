/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arg, BPF side: the only argument that the tool needs, for its key. */
#pragma once

#include <plumb/bpf/function/function.h>
#include <plumb/bpf/function/function-args.bpf.h>

const volatile struct plumb_arg plumb_arg = {};

static __always_inline void function_args(const void *ctx, enum function_hook hook, __u64 target,
					  __u64 *args)
{
	args[0] = function_arg(ctx, hook, plumb_arg.position);
}

/* The bits of a register above the argument's type are undefined. */
static __always_inline __u64 arg_value(__u64 arg)
{
	__u32 spare = (64 - plumb_arg.bits) & 63;

	if (!plumb_arg.bits)
		return (arg >> 32 ? (__s64)arg : (__s64)(int)arg) >> (plumb_arg.shift & 63);
	if (plumb_arg.is_signed)
		return (__s64)(arg << spare) >> spare >> (plumb_arg.shift & 63);
	return arg << spare >> spare >> (plumb_arg.shift & 63);
}
