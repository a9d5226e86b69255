/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* shape: which arguments of a system call are descriptors, and which points to a time. */
#pragma once

#include <plumb/bpf/core/types.h>

/* Arguments count from 1; 0: there is none. */
struct syscall_shape {
	__u8 descriptors[2]; /* SYSCALL_RESULT: what it returns is one */
	__u8 time;           /* of a struct timespec or timeval that the user asks for */
	__u8 time_bytes;     /* 16; 8 in 32-bit calls of old */
	__u8 is_futex;       /* the time is one with some operations only (second argument) */
	__u8 is_poll; /* the first argument points to as many struct pollfd as the second says */
	__u8 pad[2];
};
_Static_assert(sizeof(struct syscall_shape) == 8, "shapes are found by a shift");

#define SYSCALL_RESULT 7
#define SYSCALL_POLLED 8 /* a descriptor of struct pollfd */
