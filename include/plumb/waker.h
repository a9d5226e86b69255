/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* waker: who woke a thread, or took its CPU. */
#ifndef PLUMB_WAKER_H
#define PLUMB_WAKER_H

#include <plumb/key.h>

enum plumb_waker_kind {
	PLUMB_WAKER_UNKNOWN,
	PLUMB_WAKER_THREAD,
	PLUMB_WAKER_INTERRUPT, /* on top of the thread that is named, which has no part in it */
};

struct plumb_waker {
	__u32 kind;
	__u32 pid, tid;
	__u32 pad[3]; /* struct sched_stay, which holds one, is a cache line */
	char comm[PLUMB_COMM_LEN];
};
_Static_assert(sizeof(struct plumb_waker) == 40, "no hidden padding in a map's value");

#endif
