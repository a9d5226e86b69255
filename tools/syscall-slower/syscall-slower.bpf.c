/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/bpf/stack/stacks.h>

#include <plumb/bpf/sched/waker.h>

/*
 * Of a call: the stacks when it last left the CPU, and those of its longest time off the CPU; the
 * waker that ended its longest sleep, and the preempter of its longest preemption.
 */
struct where {
	__u64 longest, longest_wait; /* ns */
	__s32 kernel, user, longest_kernel, longest_user;
	__u64 preempted;     /* the longest time off the CPU was a preemption */
	__u64 slept, lacked; /* ns: longest sleep with the wait after it; longest preemption */
	struct plumb_waker woken_by, preempted_by, taken_by /* the last time */;
};
#define PLUMB_THREAD_OWN where

#define SCHED_WAKERS
#define SPLIT_BEGINS(t)            begins(&(t)->own)
#define SPLIT_LEAVES(ctx, t, task) leaves(ctx, &(t)->own, task, (t)->preempted)
#define SPLIT_WAS_OFFCPU           was_offcpu
#include <plumb/bpf/stack/stack.bpf.h>
#include <plumb/bpf/sched/waker.bpf.h>

struct syscall_thread;
struct sched_stay;
static __always_inline void was_offcpu(struct syscall_thread *t, __u64 off_cpu, __u64 waited,
				       const struct sched_stay *stay);

const volatile __u32 with_stacks = 0;

static __always_inline void begins(struct where *w)
{
	w->longest = w->slept = w->lacked = 0;
}

static __always_inline void leaves(struct bpf_raw_tracepoint_args *ctx, struct where *w,
				   struct task_struct *task, bool preempted)
{
	__u32 cpu = bpf_get_smp_processor_id(), tgid;

	if (preempted)
		waker_preempter(&w->taken_by, task, (struct task_struct *)ctx->args[2]);
	if (!with_stacks)
		return;
	w->kernel = stack_number(ctx, 0, cpu);
	w->user = stack_user(ctx, task, cpu, &tgid);
}

#define PLUMB_KEY struct plumb_who
#include <plumb/bpf/key/keys.bpf.h>
#define TIMING_ROWS 0
#include <plumb/bpf/syscall/syscall-timing.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>
#include "syscall-slower.h"

static __always_inline void was_offcpu(struct syscall_thread *t, __u64 off_cpu, __u64 waited,
				       const struct sched_stay *stay)
{
	struct where *w = &t->own;

	if (t->preempted && off_cpu > w->lacked) {
		w->lacked = off_cpu;
		w->preempted_by = w->taken_by;
	} else if (!t->preempted && off_cpu > w->slept) {
		w->slept = off_cpu;
		w->woken_by = stay->waker;
	}
	if (!with_stacks || off_cpu < w->longest)
		return;
	w->longest = off_cpu;
	w->longest_wait = waited;
	w->preempted = t->preempted;
	w->longest_kernel = w->kernel;
	w->longest_user = w->user;
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by the loader */
} slow_calls SEC(".maps");

static __always_inline void describe(struct slow_call *s, const struct timing_call *c,
				     struct task_struct *task, struct syscall_thread *t)
{
	struct pt_regs *regs = c->regs ? c->regs : syscall_registers();
	int i;

	s->end = bpf_ktime_get_ns();
	s->ns = c->ns;
	s->ret = c->ret;
	s->nr = c->call;
	s->abi = c->call >> 32;
	s->pid = current_pid(task);
	s->tid = current_tid(task);
	s->cpu = bpf_get_smp_processor_id();
	s->cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(s->comm, sizeof(s->comm));
	if (regs && syscall_keeps_arguments(s->nr, s->abi, c->ret)) {
		syscall_read_arguments(regs, s->abi, s->arguments);
		s->has_arguments = 1;
	}
	if (!t)
		return;
	split_finish(t, task, s->cpu, c->ns);
	for (i = 0; i < PLUMB_PARTS; i++)
		s->off[i] = t->off[i];
	if (t->own.slept)
		s->woken_by = t->own.woken_by;
	if (t->own.lacked)
		s->preempted_by = t->own.preempted_by;
	s->kernel = s->user = PLUMB_NO_STACK;
	if (with_stacks && t->own.longest) {
		s->longest = t->own.longest;
		s->longest_wait = t->own.longest_wait;
		s->preempted = t->own.preempted;
		s->kernel = t->own.longest_kernel;
		s->user = t->own.longest_user;
	}
}

static __always_inline void timing_end(const struct timing_call *c)
{
	static const struct slow_call empty;
	__u32 cpu = bpf_get_smp_processor_id();
	struct task_struct *task;
	struct plumb_totals *totals;
	struct slow_call *s;

	if (c->ns < syscall_config.min_ns ||
	    (syscall_config.only_errors && !syscall_error(c->call, c->call >> 32, c->ret))) {
		ledger_count(cpu, filtered_at_exit);
		return;
	}
	s = bpf_ringbuf_reserve(&slow_calls, sizeof(*s), 0);
	if (!s) {
		ledger_count(cpu, dropped);
		return;
	}
	*s = empty;
	task = current_task();
	describe(s, c, task, c->t ? c->t : inflight_get(task));
	bpf_ringbuf_submit(s, 0);
	totals = totals_of(1, cpu);
	if (totals)
		totals_add_call(totals, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
