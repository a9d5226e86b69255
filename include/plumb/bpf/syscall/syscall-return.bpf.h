/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syscall-return: waits of a thread on its way out of a system call (sched/return.bpf.h). */
#ifndef PLUMB_SYSCALL_RETURN_BPF_H
#define PLUMB_SYSCALL_RETURN_BPF_H

#include <plumb/bpf/core/inflight-slots.bpf.h>
#include <plumb/bpf/sched/return.bpf.h>
#include <plumb/bpf/syscall/syscall.bpf.h>

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

#endif
