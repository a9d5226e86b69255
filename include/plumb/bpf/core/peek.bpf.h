/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * peek: the kernel's memory, read by plain loads where the kernel lets a program declare what an
 * address points to (6.2), else by a helper, which takes ten times as many instructions.  An
 * address that is bad reads as 0 in both cases.
 *
 * Only in functions that are inlined into programs: the loader sets the call of bpf_rdonly_cast(),
 * and libbpf gives it no access to functions that are not.  With a __ksym symbol, libbpf would read
 * all of the kernel's types.
 */
#pragma once

#include <plumb/bpf/core/common.bpf.h>

static void *(*const peek_cast)(const void *address, __u32 type) = (void *)PLUMB_CAST_UNSET;

/* SIZE bytes, 8 at most. */
static __always_inline __u64 peek_at(const void *address, __u32 size)
{
	const __u32 type = plumb_config.word_type;
	__u64 value;
	void *at;

	if (!type) {
		value = 0;
		bpf_probe_read_kernel(&value, size, address);
		return value;
	}
	at = peek_cast(address, type);
	return size == 1   ? *(__u8 *)at
	       : size == 2 ? *(__u16 *)at
	       : size == 4 ? *(__u32 *)at
			   : *(__u64 *)at;
}

/* FIELD of the struct FROM. */
#define peek(from, field)                                                                          \
	((typeof((from)->field))peek_at((const void *)(from) +                                     \
						bpf_core_field_offset((from)->field),              \
					sizeof((from)->field)))

/* The same of a bit field, unsigned. */
#define peek_bits(from, field)                                                                     \
	(peek_at((const void *)(from) + __CORE_RELO(from, field, BYTE_OFFSET), 8)                  \
		 << __CORE_RELO(from, field, LSHIFT_U64) >>                                        \
	 __CORE_RELO(from, field, RSHIFT_U64))

/* N words, of which all are read or none; whether they are. */
static __always_inline bool peek_words(__u64 *to, const void *from, __u32 n)
{
	const __u32 type = plumb_config.word_type;
	const __u64 *two;
	__u32 i;

	if (!type)
		return !bpf_probe_read_kernel(to, n * sizeof(*to), from);
	for (i = 0; i < n; i += 2) {
		two = peek_cast(from + i * sizeof(*to), type);
		to[i] = two[0];
		if (i + 1 < n)
			to[i + 1] = two[1];
	}
	return true;
}
