/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* target, BPF side: the function that this copy of a program is for. */
#pragma once

#include <plumb/bpf/function/function.h>

/* The loader writes it there. */
#define function_own_target()                                                                      \
	({                                                                                         \
		__u64 __target;                                                                    \
		asm volatile("%0 = %1 ll" : "=r"(__target) : "i"(PLUMB_TARGET_UNSET));             \
		__target;                                                                          \
	})
