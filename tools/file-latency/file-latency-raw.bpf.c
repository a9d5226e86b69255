/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mechanism of tracepoints, for kernels that allow no programs on functions: system calls. The
 * file of a descriptor is read at the entry, since another thread may close the descriptor before
 * the call ends; the file of a call that opens one, at its exit.
 */
#include "describe.bpf.h"

struct file_thread {
	__u64 start; /* ns, CLOCK_MONOTONIC; 0: in no traced call */
	__u64 op;    /* enum file_op */
	__u64 length;
	__u64 entered; /* it is in one of the calls, traced or not, whose entry was seen */
	struct file_facts facts;
};

#define PLUMB_THREAD struct file_thread
#include <plumb/bpf/core/inflight.bpf.h>

/* Clear the thread's call in flight; return the number of these, 0 or 1. */
static __always_inline __u32 inflight_clear(struct file_thread *t, struct task_struct *task)
{
	__u32 was = t && t->start;

	(void)task;
	if (t)
		t->start = 0;
	return was;
}

#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/core/pairing.bpf.h>
#include <plumb/bpf/syscall/syscall.bpf.h>

#include "uring.bpf.h"

#define MAP_ANONYMOUS 0x20

/* The operation of a call, FILE_OPS: not traced. */
static __always_inline __u32 call_op(__u32 nr, __u32 abi)
{
	__u64 i = nr;

	barrier_var(i); /* as in syscall_is_in() */
	if (i >= PLUMB_SYSCALLS)
		return FILE_OPS;
	i = file_config.calls[(abi ? PLUMB_SYSCALLS : 0) + i];
	return i ? i - 1 : FILE_OPS;
}

/* The two tables have other numbers; most calls are traced in neither. */
static __always_inline bool may_be_traced(__u32 nr)
{
	return call_op(nr, PLUMB_ABI_NATIVE) < FILE_OPS || call_op(nr, PLUMB_ABI_COMPAT) < FILE_OPS;
}

/* Argument N, from 0 to 4, of the call that the thread is inside. */
static __always_inline __u64 argument(struct pt_regs *regs, __u32 abi, __u32 n)
{
#if defined(__TARGET_ARCH_x86)
	bool native = abi == PLUMB_ABI_NATIVE;

	switch (n) {
	case 0:
		return native ? peek(struct pt_regs, regs, di)
			      : (__u32)peek(struct pt_regs, regs, bx);
	case 1:
		return native ? peek(struct pt_regs, regs, si)
			      : (__u32)peek(struct pt_regs, regs, cx);
	case 2:
		return (__u32)peek(struct pt_regs, regs, dx); /* a descriptor */
	case 3:
		return (__u32)(native ? peek(struct pt_regs, regs, r10)
				      : peek(struct pt_regs, regs, si)); /* flags */
	default:
		return (__u32)(native ? peek(struct pt_regs, regs, r8)
				      : peek(struct pt_regs, regs, di)); /* a descriptor */
	}
#else
	__u64 value = n ? peek(struct pt_regs, regs, regs[n]) : peek(struct pt_regs, regs, orig_x0);

	return abi == PLUMB_ABI_NATIVE ? value : (__u32)value;
#endif
}

/* The file that a call is about; NULL: the descriptor has none. */
static __always_inline struct file *call_file(struct task_struct *task, __u32 op,
					      struct pt_regs *regs, __u32 abi)
{
	struct file *file, *other;

	switch (op) {
	case FILE_MMAP:
		return peek_file_of(task, argument(regs, abi, 4));
	case FILE_SENDFILE: /* (out, in, ...) */
		file = peek_file_of(task, argument(regs, abi, 1));
		other = peek_file_of(task, argument(regs, abi, 0));
		break;
	case FILE_SPLICE: /* (in, offset, out, ...) */
	case FILE_COPY_RANGE:
		file = peek_file_of(task, argument(regs, abi, 0));
		other = peek_file_of(task, argument(regs, abi, 2));
		break;
	default:
		return peek_file_of(task, argument(regs, abi, 0));
	}
	return file && other && !file_is_one(file) && file_is_one(other) ? other : file;
}

/* Whether the call is to be traced; FILE, unless it opens one, is NULL if the descriptor is bad. */
static __always_inline bool call_wanted(struct task_struct *task, __u32 op, struct pt_regs *regs,
					__u32 abi, struct file **file)
{
	*file = NULL;
	if (op == FILE_OPEN)
		return true;
	if (op == FILE_MMAP && argument(regs, abi, 3) & MAP_ANONYMOUS)
		return false;
	*file = call_file(task, op, regs, abi);
	return !*file || file_is_one(*file);
}

static __always_inline void call_begin(struct task_struct *task, struct file_thread *t,
				       struct pt_regs *regs, __u32 op, __u32 abi)
{
	struct file *file;

	if (!call_wanted(task, op, regs, abi, &file))
		return;
	ledger_count(bpf_get_smp_processor_id(), began);
	__builtin_memset(&t->facts, 0, sizeof(t->facts));
	file_describe(file, &t->facts);
	if (file && plumb_config.by & FILE_BY_FILE)
		path_remember(file, &t->facts.id);
	t->op = op;
	t->length = op == FILE_MMAP ? argument(regs, abi, 1) : 0;
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
	if (op >= FILE_OPS)
		return 0;
	t = inflight_get(task);
	if (t && inflight_clear(t, task))
		ledger_count(bpf_get_smp_processor_id(), exit_lost);
	if (!filter_entry(task)) {
		filter_remember_rejected(regs);
		return 0;
	}
	if (!t)
		t = inflight_make(task);
	if (t) {
		t->entered = 1;
		call_begin(task, t, regs, op, abi);
	} else {
		ledger_count(bpf_get_smp_processor_id(), no_state);
	}
	return 0;
}

static __always_inline void call_record(struct task_struct *task, struct file_thread *t, long ret,
					__u64 now)
{
	struct file_call c = {.ns = now - t->start, .op = t->op};
	__u32 cpu = bpf_get_smp_processor_id();
	struct file *file = NULL;

	if (pairing_is_marked(task, t->start)) {
		ledger_count(cpu, unpaired);
		return;
	}
	c.error = ret < 0 && ret >= -4095 ? -ret : 0;
	if ((file_config.only_errors && !c.error) || c.ns < file_config.min_ns) {
		ledger_count(cpu, filtered_at_exit);
		return;
	}
	if (c.op == FILE_OPEN && !c.error) {
		file = peek_file_of(task, ret);
		if (file && !file_is_one(file)) {
			ledger_count(cpu, filtered_at_exit);
			return;
		}
		file_describe(file, &t->facts);
		if (file && plumb_config.by & FILE_BY_FILE)
			path_remember(file, &t->facts.id);
	}
	c.bytes = c.error ? 0 : file_bytes(c.op, ret, t->length);
	c.cache = cache_end(task, c.op, t->facts.flags);
	file_record(task, &t->facts, &c);
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
