/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --tail: the least and the most that slow calls took. */
#include <plumb/bpf/syscall/syscall-key.bpf.h>

#include <plumb/bpf/sched/split.h>
#define SCHED_MEANWHILE
enum { SPLIT_PARTS = PLUMB_PARTS };
#include <plumb/bpf/hist/split-hist.bpf.h>
#include <plumb/bpf/syscall/syscall-tail.bpf.h>

static __always_inline void split_begins(struct call_thread *t)
{
	(void)t;
}

static __always_inline void split_leaves(struct bpf_raw_tracepoint_args *ctx, struct call_thread *t,
					 struct task_struct *task)
{
	(void)ctx, (void)t, (void)task;
}

static __always_inline void split_was_offcpu(struct call_thread *t, __u64 off_cpu, __u64 waited,
					     const struct sched_stay *stay)
{
	split_meanwhile(t, off_cpu, waited, stay);
}

static __always_inline void tail_begins(struct call_thread *t, struct task_struct *task,
					struct pt_regs *regs)
{
	(void)regs;
	key_refresh(t, task);
	if (plumb_config.by & PLUMB_BY_FD)
		fd_find(t, t->call);
}

static __always_inline void tail_ends(struct call_thread *t, struct task_struct *task, __u32 cpu,
				      __u64 ns, __u64 at_most)
{
	__u32 slot = syscall_slot(t, task, t->call, 0, cpu);

	hist_record(slot, cpu, at_most, 0, true);
	if (plumb_config.split)
		split_record(t->off, slot, cpu, ns, split_finish(t, task, cpu, ns), 0);
	else
		hist_record(slot, cpu, ns, 0, false);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
