/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mechanism of tracepoints, for kernels that allow no programs on functions: system calls. The
 * file of a descriptor is read at the entry, since another thread may close the descriptor before
 * the call ends; the file of a call that opens one, at its exit.
 */
#include "record.bpf.h"
#include <plumb/bpf/sched/return.h>

struct file_thread {
	__u64 start; /* ns, CLOCK_MONOTONIC; 0: in no traced call */
	__u64 op;    /* enum file_op */
	__u64 length;
	__u64 entered; /* it is in one of the calls, traced or not, whose entry was seen */
	struct file_facts facts;
	struct plumb_return ret; /* its last traced call, */
	struct file_call last;   /* the same, */
	__u64 call;              /* and its syscall_word() */
};

#define PLUMB_THREAD struct file_thread
#include <plumb/bpf/core/inflight-one.bpf.h>
#define RETURN_CALL file_call
#include <plumb/bpf/sched/return.bpf.h>
#include <plumb/bpf/core/pairing.bpf.h>
#include <plumb/bpf/syscall/syscall.bpf.h>

#include "calls.bpf.h"
#include "held.bpf.h"
#include "uring.bpf.h"

/* The two tables have other numbers; most calls are traced in neither. */
static __always_inline bool may_be_traced(__u32 nr)
{
	return call_op(nr, PLUMB_ABI_NATIVE) < FILE_CALLS ||
	       call_op(nr, PLUMB_ABI_COMPAT) < FILE_CALLS;
}

static __always_inline void call_begin(struct task_struct *task, struct file_thread *t,
				       struct pt_regs *regs, __u32 op, __u32 nr, __u32 abi)
{
	struct file *file;

	if (!call_wanted(task, op, regs, abi, &file))
		return;
	ledger_count(bpf_get_smp_processor_id(), began);
	__builtin_memset(&t->facts, 0, sizeof(t->facts));
	file_describe(file, &t->facts);
	t->op = op;
	t->call = syscall_word(nr, abi);
	t->length = op == FILE_MMAP ? call_argument(regs, abi, 1) : 0;
	cache_begin(task);
	t->start = bpf_ktime_get_ns();
}

SEC("raw_tp/sys_enter")
int call_enter(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	struct task_struct *task;
	struct file_thread *t;
	__u32 nr = ctx->args[1], op, abi;

	if (!may_be_traced(nr))
		return 0;
	task = current_task();
	if (!filter_thread(task)) {
		filter_remember_rejected(regs);
		return 0;
	}
	abi = syscall_abi(task);
	op = call_op(nr, abi);
	if (op >= FILE_OPS) {
		if (op < FILE_CALLS && filter_entry(task))
			untimed_count(op - FILE_OPS);
		return 0;
	}
	t = inflight_get(task);
	if (t && inflight_clear(t, task))
		ledger_count(bpf_get_smp_processor_id(), exit_lost);
	if (t)
		return_forget(t);
	if (!filter_entry(task)) {
		filter_remember_rejected(regs);
		return 0;
	}
	if (!t)
		t = inflight_make(task);
	if (t) {
		t->entered = 1;
		call_begin(task, t, regs, op, nr, abi);
	} else {
		ledger_count(bpf_get_smp_processor_id(), no_state);
	}
	return 0;
}

/* A call that opens a file is about it from now on; return whether it is one that is traced. */
static __always_inline bool call_opened(struct task_struct *task, struct file_thread *t, long ret)
{
	struct file *file = peek_file_of(task, ret);

	if (file && !file_is_one(file))
		return false;
	file_describe(file, &t->facts);
	return true;
}

static __always_inline void call_record(struct task_struct *task, struct file_thread *t, long ret,
					__u64 now)
{
	struct file_call *c = &t->last;
	__u32 cpu = bpf_get_smp_processor_id();

	if (pairing_is_marked(task, t->start)) {
		ledger_count(cpu, unpaired);
		return;
	}
	c->ns = now - t->start;
	c->op = t->op;
	c->error = ret < 0 && ret >= -4095 ? -ret : 0;
	if (c->op == FILE_OPEN && !c->error && !call_opened(task, t, ret)) {
		ledger_count(cpu, filtered_at_exit);
		return;
	}
	c->bytes = c->error ? 0 : file_bytes(c->op, ret, t->length);
	c->cache = cache_end(task, c->op, t->facts.flags);
	if (is_filtered_at_exit(c->ns, c->error))
		ledger_count(cpu, filtered_at_exit);
	else
		file_add(file_slot(task, &t->facts, c), cpu, c, 1);
	t->ret.ended = now;
}

/*
 * Each call with a number that is traced is seen at its entry, where the one before is forgotten:
 * so registers with the last one's number are those of the last one.
 */
static __always_inline bool return_find(struct file_thread *t, struct task_struct *task)
{
	__u32 nr;
	long result;

	if (t->start || !t->ret.ended || !return_call(return_registers(task), &nr, &result) ||
	    syscall_word(nr, syscall_abi(task)) != t->call)
		return false;
	if (return_is_fresh(t)) {
		t->ret.ns = t->last.ns;
		t->ret.error = t->last.error;
		t->ret.slot = file_slot(task, &t->facts, &t->last);
	}
	return true;
}

/*
 * An exit without an entry: count it if there should have been one.  Not inlined, for its arguments
 * would take too much of the stack (6.12).
 */
static __noinline int call_unmatched(struct task_struct *task, struct pt_regs *regs, __u32 op,
				     __u32 abi)
{
	struct file *file;

	if (!plumb_live || !filter_entry(task))
		return 0;
	if (call_wanted(task, op, regs, abi, &file))
		ledger_count(bpf_get_smp_processor_id(), unmatched);
	return 0;
}

SEC("raw_tp/sys_exit")
int call_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	struct task_struct *task;
	struct file_thread *t;
	__u32 nr, op, abi;
	__u64 now;

	if (filter_was_rejected(regs))
		return 0;
#if defined(__TARGET_ARCH_x86)
	nr = peek(struct pt_regs, regs, orig_ax);
#else
	nr = peek(struct pt_regs, regs, syscallno);
#endif
	if (!may_be_traced(nr))
		return 0;
	now = bpf_ktime_get_ns();
	task = current_task();
	if (!filter_thread(task))
		return 0;
	abi = syscall_abi(task);
	op = call_op(nr, abi);
	if (op >= FILE_OPS)
		return 0;
	t = inflight_get(task);
	if (t && t->start)
		call_record(task, t, ctx->args[1], now);
	else if (!t || !t->entered)
		call_unmatched(task, regs, op, abi);
	if (t)
		t->start = t->entered = 0;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
