/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inflight-one: states of threads that are inside one call at most, which has begun at their member
 * start (ns, CLOCK_MONOTONIC; 0: none).
 */
#pragma once

#include <plumb/bpf/core/inflight.bpf.h>

static __always_inline __u32 inflight_clear(PLUMB_THREAD *t, struct task_struct *task)
{
	__u32 was = t && t->start;

	if (t)
		t->start = 0;
	return was;
}
