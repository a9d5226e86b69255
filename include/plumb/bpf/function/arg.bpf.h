/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* arg, BPF side: the value of an argument, from the register that it was passed in. */
#ifndef PLUMB_ARG_BPF_H
#define PLUMB_ARG_BPF_H

#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/function/arg.h>

const volatile struct plumb_arg plumb_arg = {};

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

#endif
