/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * exit: the state of a thread (inflight.bpf.h) ends with it.  A tool that follows threads on their
 * way out of a call includes sched/return.bpf.h, which has a program of its own for this.
 */
#pragma once

#include <plumb/bpf/core/inflight.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>

SEC("raw_tp/sched_process_exit")
int thread_exit(void *ctx __attribute__((unused)))
{
	struct task_struct *task = current_task();

	inflight_end(task, inflight_clear(inflight_get(task), task));
	return 0;
}
