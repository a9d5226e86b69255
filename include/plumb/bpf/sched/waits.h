/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* waits: what happened while one thread waited for a CPU, of several waits together. */
#pragma once

#include <plumb/bpf/sched/meanwhile.h>

struct plumb_wait {
	__u64 ns; /* 0: none */
	struct plumb_meanwhile who;
};

#define PLUMB_WAITS 9
struct plumb_waits {
	struct plumb_wait all[PLUMB_WAITS]; /* the thread itself; what happened */
};
