/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every BPF program of plumb includes first. */
#ifndef PLUMB_COMMON_BPF_H
#define PLUMB_COMMON_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <plumb/bpf/core/config.h>

/* What is seldom so is laid out aside: the usual path has fewer jumps. */
#ifndef unlikely /* libbpf has it from 1.7 on */
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

#define BPF_ANY     0
#define BPF_NOEXIST 1

const volatile struct plumb_config plumb_config = {};

/*
 * A program cannot interrupt itself on its CPU (each has a recursion guard, and
 * before it got one, by 6.1, nothing could preempt a raw tracepoint's program),
 * so what it alone writes there it may write plainly.
 */
#define plumb_add(counter, n)                                                                      \
	do {                                                                                       \
		if (unlikely(plumb_config.interleaved))                                            \
			__sync_fetch_and_add(&(counter), n);                                       \
		else                                                                               \
			(counter) += (n);                                                          \
	} while (0)

#endif
