/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --tail: slow calls, with the least and the most that they took. */
#include <plumb/bpf/stack/stacks.h>

#include <plumb/bpf/sched/waker.h>
#include "syscall-slower.h"

/* Of a call, as in syscall-slower.bpf.c; and its arguments. */
struct where {
	__u64 longest, longest_wait; /* ns */
	__s32 kernel, user, longest_kernel, longest_user;
	__u64 preempted;
	__u64 slept, lacked;
	struct plumb_waker woken_by, preempted_by, taken_by;
	__u64 arguments[6];
};
#define PLUMB_THREAD_OWN where

#define SCHED_WAKERS
#define PLUMB_KEY struct plumb_who
#include <plumb/bpf/key/keys.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>
#include <plumb/bpf/syscall/syscall-tail.bpf.h>
#include "longest.bpf.h"

static __always_inline void split_begins(struct call_thread *t)
{
	t->own.longest = t->own.slept = t->own.lacked = 0;
}

static __always_inline void split_leaves(struct bpf_raw_tracepoint_args *ctx, struct call_thread *t,
					 struct task_struct *task)
{
	longest_leaves(ctx, t, task);
}

static __always_inline void split_was_offcpu(struct call_thread *t, __u64 off_cpu, __u64 waited,
					     const struct sched_stay *stay)
{
	longest_was_offcpu(t, off_cpu, waited, stay);
}

static __always_inline void tail_begins(struct call_thread *t, struct task_struct *task,
					struct pt_regs *regs)
{
	(void)task;
	syscall_read_arguments(regs, t->call >> 32, t->own.arguments);
}

static __always_inline void describe(struct slow_call *s, const struct call_thread *t, __u64 ns,
				     __u64 at_most)
{
	static const struct slow_call empty;
	int i;

	*s = empty;
	s->end = t->tail.seen;
	s->ns = ns;
	s->at_most = at_most;
	s->nr = t->call;
	s->abi = t->call >> 32;
	s->cpu = bpf_get_smp_processor_id();
	s->cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(s->comm, sizeof(s->comm));
	for (i = 0; i < 6; i++)
		s->arguments[i] = t->own.arguments[i];
	s->has_arguments = 1;
	longest_describe(s, t);
}

static __always_inline void tail_ends(struct call_thread *t, struct task_struct *task, __u32 cpu,
				      __u64 ns, __u64 at_most)
{
	struct plumb_totals *totals = totals_of(1, cpu);
	struct slow_call *s;

	split_finish(t, task, cpu, ns);
	s = bpf_ringbuf_reserve(&slow_calls, sizeof(*s), 0);
	if (!s) {
		ledger_count(cpu, dropped);
		return;
	}
	describe(s, t, ns, at_most);
	s->pid = current_pid(task);
	s->tid = current_tid(task);
	bpf_ringbuf_submit(s, 0);
	if (totals)
		plumb_add(totals->count, 1);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
