/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* usdt, BPF side: reads an argument of a USDT probe.  Never what an argument points to. */
#pragma once

#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/user/usdt.h>

/*
 * A register, by its offset in struct pt_regs.  As a copy: the verifier takes only constant offsets
 * in a program's context.
 */
static __always_inline bool usdt_register(const struct pt_regs *ctx, __u32 offset, __u64 *value)
{
	if (offset > sizeof(*ctx) - sizeof(*value))
		return false;
	return !bpf_probe_read_kernel(value, sizeof(*value), (const void *)ctx + offset);
}

/* Extends the lowest bytes of VALUE, as many as SIZE says, by their sign or by zeroes. */
static __always_inline __u64 usdt_extend(__u64 value, __s8 size)
{
	__u32 bits = 64 - 8 * (__u32)(size < 0 ? -size : size);

	value <<= bits & 63;
	return size < 0 ? (__u64)((__s64)value >> (bits & 63)) : value >> (bits & 63);
}

/* The index of an address, scaled. */
static __always_inline bool usdt_index(const struct pt_regs *ctx, const struct plumb_usdt_arg *arg,
				       __u64 *index)
{
	if (!usdt_register(ctx, arg->index, index))
		return false;
	if (arg->extend)
		*index = usdt_extend(*index, arg->extend == PLUMB_USDT_SXTW ? -4 : 4);
	*index <<= arg->shift & 63;
	return true;
}

/*
 * Reads an argument; false: there is none, or its page is not in memory (a program cannot wait for
 * it).  ARG is of the place that fired.
 */
static __always_inline bool usdt_read(const struct pt_regs *ctx, const struct plumb_usdt_arg *arg,
				      __u64 *value)
{
	__u64 base = 0, index = 0;

	*value = 0;
	switch (arg->kind) {
	case PLUMB_USDT_CONSTANT:
		*value = arg->value;
		break;
	case PLUMB_USDT_REGISTER:
		if (!usdt_register(ctx, arg->base, value))
			return false;
		*value >>= arg->shift & 63;
		break;
	case PLUMB_USDT_MEMORY:
		if (arg->base != PLUMB_USDT_NO_REGISTER && !usdt_register(ctx, arg->base, &base))
			return false;
		if (arg->index != PLUMB_USDT_NO_REGISTER && !usdt_index(ctx, arg, &index))
			return false;
		base += index + arg->value;
		/* Exactly its size: what follows may be on a page that is not there. */
		index = (arg->size < 0 ? -arg->size : arg->size) & 15;
		if (index > sizeof(*value) || bpf_probe_read_user(value, index, (const void *)base))
			return false;
		break;
	default:
		return false;
	}
	*value = usdt_extend(*value, arg->size);
	return true;
}
