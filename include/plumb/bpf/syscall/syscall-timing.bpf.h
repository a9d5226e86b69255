/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * syscall timing: system calls, each passed to the tool with its time at its exit.
 *
 * On the tracepoints a call is kept in an in-flight slot if possible: then its exit finds it
 * without identifying the thread. fentry programs are attached to the functions of a few calls;
 * other calls cost nothing. Each of these functions has programs of its own, which can interleave
 * on a CPU. The loader ensures that what they write belongs to one call.
 */
#pragma once

#include <plumb/bpf/core/pairing.bpf.h>
#include <plumb/bpf/sched/split.bpf.h>
#include <plumb/bpf/sched/return.bpf.h>
#include <plumb/bpf/syscall/syscall-programs.bpf.h>

struct timing_call {
	__u64 call;    /* syscall_word() */
	__u64 ns, end; /* CLOCK_MONOTONIC */
	long ret;
	struct pt_regs *regs; /* NULL: not known */
	__u32 slot;           /* as returned by timing_slot() at the entry, if IN_INFLIGHT_SLOT */
	bool in_inflight_slot;
	bool left;             /* it may have left the CPU */
	struct call_thread *t; /* NULL, if IN_INFLIGHT_SLOT: not looked up yet */
};

/*
 * Defined by the tool: whether all that decides the slot is known at the entry; the entry of a
 * call; its slot then; a call has ended.
 */
static __always_inline bool timing_at_entry(void);
static __always_inline void timing_begin(struct call_thread *t, struct task_struct *task,
					 __u64 call);
static __always_inline __u32 timing_slot(struct call_thread *t, struct task_struct *task,
					 __u64 call, __u32 cpu);
static __always_inline void timing_end(const struct timing_call *c);

static __always_inline void timing_enter(struct task_struct *task, __u64 call,
					 const struct pt_regs *regs)
{
	struct call_thread *t = inflight_make(task);
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_inflight_slot *inflight_slot = NULL;

	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	if (inflight_clear(t, task))
		ledger_count(cpu, exit_lost);
	return_forget(t);
	ledger_count(cpu, began);
	timing_begin(t, task, call);
	if (plumb_config.split)
		split_begin(t);
	if (regs && timing_at_entry())
		inflight_slot = inflight_slot_take(t, task, regs, cpu);
	if (inflight_slot) {
		inflight_slot->call = call;
		inflight_slot->left = 0;
		inflight_slot->ended = 0;
		inflight_slot->slot = timing_slot(t, task, call, cpu);
		inflight_slot->start = bpf_ktime_get_ns();
	} else {
		t->call = call;
		t->inflight_slot = 0;
		t->start = bpf_ktime_get_ns();
	}
}

/* Whether the exit may not belong to the call that began at START. */
static __always_inline bool timing_is_doubtful(__u64 start)
{
	if (!unlikely(plumb_config.preemptible) || !pairing_is_marked(current_task(), start))
		return false;
	ledger_count(bpf_get_smp_processor_id(), unpaired);
	return true;
}

static __always_inline void timing_leave_inflight_slot(struct plumb_inflight_slot *inflight_slot,
						       long ret, struct pt_regs *regs)
{
	__u64 now = bpf_ktime_get_ns();
	struct timing_call c = {
		.ns = now - inflight_slot->start,
		.end = now,
		.call = inflight_slot->call,
		.ret = ret,
		.regs = regs,
		.slot = inflight_slot->slot,
		.in_inflight_slot = true,
	};

	/* From here on interrupts are none of the call's (split-irq.bpf.h). */
	inflight_slot->ended = now;
	barrier();
	c.left = inflight_slot->left;
	if (!timing_is_doubtful(inflight_slot->start)) {
		timing_end(&c);
		inflight_slot->ns = c.ns;
	} else {
		inflight_slot->ended = 0;
	}
	inflight_slot->start = 0;
}

static __always_inline void timing_leave(struct call_thread *t, long ret, struct pt_regs *regs)
{
	__u64 now = bpf_ktime_get_ns();
	struct timing_call c = {
		.ns = now - t->start,
		.end = now,
		.call = t->call,
		.ret = ret,
		.regs = regs,
		.left = true,
		.t = t,
	};

	t->ret.ended = now; /* as above */
	barrier();
	if (!timing_is_doubtful(t->start)) {
		timing_end(&c);
		t->ret.ns = c.ns;
	} else {
		t->ret.ended = 0;
	}
	t->start = 0;
}

/* Tracepoints: every call of the machine passes here, including calls that are not selected. */

static __always_inline void syscall_enters(struct task_struct *task, __u32 nr,
					   const struct syscall_arguments *a)
{
	__u32 abi = syscall_abi(task);

	if (syscall_wanted(task, nr, abi, a->regs) && syscall_arguments_match(a))
		timing_enter(task, syscall_word(nr, abi), a->regs);
}

static __always_inline bool syscall_is_done(const struct syscall_end *e)
{
	struct plumb_inflight_slot *inflight_slot;

	if (!e->regs || !timing_at_entry())
		return false;
	inflight_slot = inflight_slot_of_name(e->regs, bpf_get_smp_processor_id());
	if (inflight_slot)
		timing_leave_inflight_slot(inflight_slot, e->ret, e->regs);
	return inflight_slot;
}

/*
 * If executions are missed, an exit may follow the entry of another call. The number detects that,
 * where it is available at no cost; after sigreturn it is the -1 of its caller.
 */
static __always_inline bool timing_is_of_another(const struct call_thread *t,
						 const struct syscall_end *e)
{
	return !e->regs && (__s32)e->nr >= 0 && e->nr != (__u32)t->call;
}

static __always_inline void syscall_leaves(struct task_struct *task, const struct syscall_end *e)
{
	struct call_thread *t = inflight_get(task);
	struct plumb_inflight_slot *inflight_slot = t ? inflight_slot_of(t, task) : NULL;

	if (t && t->start && timing_is_of_another(t, e)) {
		t->start = 0;
		ledger_count(bpf_get_smp_processor_id(), exit_lost);
	}
	if (inflight_slot)
		timing_leave_inflight_slot(inflight_slot, e->ret, e->regs);
	else if (t && t->start)
		timing_leave(t, e->ret, e->regs);
	else
		syscall_unmatched(task, e);
}

static __always_inline void timing_split(struct bpf_raw_tracepoint_args *ctx,
					 struct task_struct *task, __u32 cpu, __u64 now)
{
	struct call_thread *t = filter_thread(task) ? inflight_get(task) : NULL;
	struct plumb_inflight_slot *inflight_slot;

	if (!t)
		return;
	inflight_slot = inflight_slot_of(t, task);
	/* Also if its call has ended: it may be on its way out (return.bpf.h). */
	split_back(t, task, cpu);
	if (!inflight_slot && !t->start) {
		split_forget(t);
		return;
	}
	split_left(ctx, t, task, cpu, now);
	if (inflight_slot)
		inflight_slot->left = 1;
}

/* Loaded only if calls are split. */
SEC("raw_tp/sched_switch")
int thread_leaves(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 now = bpf_ktime_get_ns();

	timing_split(ctx, task, cpu, now);
	sched_switched(ctx, task, cpu, now);
	return 0;
}

/* Waits of a thread on its way out of a call (sched/return.bpf.h). */

/* Defined by a tool with rows: the slot of the current thread's last call. */
static __always_inline __u32 return_slot(struct call_thread *t, struct task_struct *task);

/* Whether the thread's last call is remembered: its end is in t->ret, or in its in-flight slot. */
static __always_inline bool return_remembers(struct call_thread *t, struct task_struct *task)
{
	struct plumb_inflight_slot *s;
	__u32 n = t->inflight_slot - 1;

	if (t->start || t->ret.ended)
		return !t->start;
	s = t->inflight_slot ? bpf_map_lookup_elem(&plumb_inflight_slots, &n) : NULL;
	if (!s || s->task != (__u64)task || s->start || !s->ended)
		return false;
	t->call = s->call;
	t->ret.ns = s->ns;
	t->ret.ended = s->ended;
	return true;
}

/*
 * Calls that are not traced have other numbers or arguments than the last traced one: their entries
 * are not noted.
 */
static __always_inline bool return_find(struct call_thread *t, struct task_struct *task)
{
	struct syscall_arguments a;
	struct pt_regs *regs;
	__u32 nr, abi;
	long result;

	if (!return_remembers(t, task))
		return false;
	regs = return_registers(task);
	abi = syscall_abi(task);
	if (!return_call(regs, &nr, &result) || syscall_word(nr, abi) != t->call)
		return false;
	a = syscall_arguments(regs);
	if (!syscall_arguments_match(&a) || !filter_entry(task))
		return false;
	if (return_is_fresh(t)) {
		t->ret.error = syscall_error(nr, abi, result);
		t->ret.slot = return_slot(t, task);
	}
	return true;
}
