/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* common: the first header of every BPF program of plumb. */
#pragma once

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <plumb/bpf/core/atomic.h>
#include <plumb/bpf/core/config.h>

/* Moves code for rare conditions out of the common path, which then has fewer jumps. */
#ifndef unlikely /* libbpf has it from 1.7 on */
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

/* A map of at most MOST entries. */
#define PLUMB_MAP(name, kind, most, key_, value_)                                                  \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_##kind);                                                 \
		__uint(max_entries, most);                                                         \
		__type(key, key_);                                                                 \
		__type(value, value_);                                                             \
	} name SEC(".maps")

#define BPF_ANY     0
#define BPF_NOEXIST 1

const volatile struct plumb_config plumb_config = {};

/*
 * A program cannot interrupt itself on its CPU: it has a recursion guard; raw tracepoint programs,
 * which have none before 6.1, cannot be preempted there.  So data that only one program writes on
 * a CPU needs no atomics.
 */
#define plumb_add(counter, n) plumb_add_alone(false, counter, n)
/* ALONE: only one program of those that may interrupt each other writes it. */
#define plumb_add_alone(alone, counter, n)                                                         \
	do {                                                                                       \
		if (unlikely(plumb_config.interleaved) && !(alone))                                \
			atomic_add(&(counter), n);                                                 \
		else                                                                               \
			(counter) += (n);                                                          \
	} while (0)

/* Argument N of a raw tracepoint, in assembly, since 5.10 refuses an offset that is computed. */
#define argument_at(ctx, n)                                                                        \
	({                                                                                         \
		__u64 _value;                                                                      \
		asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(_value) : "r"(ctx), "i"((n)*8));      \
		_value;                                                                            \
	})

/* The same of an N from 0 to 3 that the loader sets; no tracepoint is asked for one it lacks. */
static __always_inline __u64 argument(const void *ctx, __u32 n)
{
	if (n == 0)
		return argument_at(ctx, 0);
	if (n == 1)
		return argument_at(ctx, 1);
	if (n == 2)
		return argument_at(ctx, 2);
	return argument_at(ctx, 3);
}
