/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mechanisms on functions.  The first argument of most is the file, and the third the length of
 * a mapping, or another file.  do_filp_open() returns the file.  The functions of fsync() and
 * fdatasync() are those of the system calls, since what they call is often inlined: their only
 * argument are the user's registers.
 */
#include <plumb/bpf/function/target.bpf.h>

#include "record.bpf.h"

/* A program that is attached to many functions at once can read any register. */
#define own_target_is_unset() ((__u32)function_own_target() == (__u32)PLUMB_TARGET_UNSET)

#define target_op(target) file_config.targets[PLUMB_TARGET_INDEX(target) & (FILE_TARGETS - 1)]

/* The function is that of a system call. */
static __always_inline bool has_registers(__u32 op)
{
	return op == FILE_FSYNC || op >= FILE_OPS;
}

static __always_inline __u32 third_argument(void)
{
	return !own_target_is_unset() && has_registers(target_op(function_own_target()))
		       ? PLUMB_NO_ARG
		       : 2;
}

#define FUNCTION_LAST            struct file_call
#define FUNCTION_SELECTS(target) (function_config.calibration || target_op(target) < FILE_OPS)
#include <plumb/bpf/function/function.bpf.h>
#define RETURN_CALL file_call
#include <plumb/bpf/sched/return.bpf.h>
#include <plumb/bpf/syscall/selection.bpf.h>

#include "aio.bpf.h"
#include "calls.bpf.h"
#include "held.bpf.h"

#define PF_IO_WORKER 0x10 /* include/linux/sched.h */

/* The system call that the thread is inside. */
static __always_inline __u32 current_call(struct task_struct *task)
{
	return return_number(return_registers(task));
}

#define NR_IO_URING_ENTER 426 /* on all architectures, also of 32-bit calls */

/* The operation is one of io_uring, whose tracepoints count it. An open may be tried twice there.
 */
static __always_inline bool is_of_uring(struct task_struct *task, bool opens)
{
	if (!file_config.uring_end)
		return false;
	return current_read(task, flags) & PF_IO_WORKER ||
	       (opens && current_call(task) == NR_IO_URING_ENTER);
}

static __always_inline struct file *own_executable(struct task_struct *task)
{
	return peek(struct mm_struct, current_read(task, mm), exe_file);
}

/*
 * The first argument becomes the file that the call is about: 0, if it opens one or the descriptor
 * is bad.
 */
static __always_inline bool is_about_file(struct task_struct *task, __u32 op, __u64 *args)
{
	switch (op) {
	case FILE_OPEN:
		args[0] = 0;
		return true;
	case FILE_FSYNC: /* a descriptor that is bad has none */
		args[0] = (__u64)call_file(task, op, (struct pt_regs *)args[0], syscall_abi(task));
		return !args[0] || file_is_one((struct file *)args[0]);
	case FILE_SENDFILE:
	case FILE_SPLICE:
	case FILE_COPY_RANGE:
		if (file_is_one((struct file *)args[0]))
			return true;
		args[0] = args[1];
		return file_is_one((struct file *)args[0]);
	default: /* an anonymous mapping has no file */
		return args[0] && file_is_one((struct file *)args[0]);
	}
}

/*
 * The call is inside another one, such as the splice of a copy_file_range(), and not an operation
 * of its own.  The frame of a call whose exit was missed looks like that of one around it, too:
 * what the thread's system call does, is inside none of another operation.
 */
static __always_inline bool is_inside(struct task_struct *task, __u32 op)
{
	struct function_thread *t = inflight_get(task);
	struct plumb_frame *around = t ? frame_below(t, t->depth) : NULL;

	return around && (target_op(around->target) == op ||
			  call_op(current_call(task), syscall_abi(task)) != op);
}

static __always_inline void function_args(const void *ctx, enum function_hook hook, __u64 target,
					  __u64 *args)
{
	args[0] = function_arg(ctx, hook, 0);
	args[1] = function_arg(ctx, hook, third_argument());
}

static __always_inline bool function_wanted(struct task_struct *task, __u64 target, __u64 *args)
{
	__u32 op = function_config.calibration ? FILE_READ : target_op(target);

	if (!args) /* never true, takes_args is set; for clang */
		return false;
	if (function_config.calibration)
		args[0] = (__u64)own_executable(task);
	if (op >= FILE_OPS) {
		untimed_count(op - FILE_OPS);
		return false;
	}
	if (is_of_uring(task, op == FILE_OPEN) || !is_about_file(task, op, args))
		return false;
	if (plumb_config.by & FILE_BY_CACHE && !is_inside(task, op))
		cache_begin(task);
	return true;
}

static __always_inline void remember(struct function_thread *t, const struct file_call *call,
				     __u32 slot, const struct function_call *c)
{
	return_settle(t);
	t->last = *call;
	t->last.result = c->ret;
	t->ret.slot = slot;
	t->ret.error = call->error;
	t->ret.ns = call->ns;
	t->ret.ended = c->ended ?: bpf_ktime_get_ns();
}

static __always_inline void function_record(struct task_struct *task, const struct function_call *c)
{
	__u32 op = function_config.calibration ? FILE_READ : target_op(call_target(c));
	struct file_call call = {.ns = c->ns, .op = op, .error = c->error};
	struct function_thread *t = inflight_get(task);
	struct file *file = (struct file *)c->args[0];
	__u32 cpu = bpf_get_smp_processor_id(), slot;
	struct file_facts facts = {};

	if (op >= FILE_SENDFILE && is_inside(task, op)) {
		ledger_add(cpu, began, -1);
		return;
	}
	if (op == FILE_OPEN && !c->error) {
		file = (struct file *)c->ret;
		if (!file_is_one(file)) {
			ledger_count(cpu, filtered_at_exit);
			if (t)
				return_forget(t);
			return;
		}
	}
	file_describe(file, &facts);
	call.bytes = c->error ? 0 : file_bytes(op, c->ret, c->args[1]);
	call.cache = cache_end(task, op, facts.flags);
	slot = file_slot(task, &facts, &call);
	if (is_filtered_at_exit(call.ns, call.error))
		ledger_count(cpu, filtered_at_exit);
	else
		file_add(slot, cpu, &call, 1);
	if (t)
		remember(t, &call, slot, c);
}

/*
 * Calls of the same operation on files have been seen, unless they failed before they came to the
 * function, with another result then.  Of opens the function's result is another.
 */
static __always_inline bool return_find(struct function_thread *t, struct task_struct *task)
{
	struct pt_regs *regs;
	struct file *file;
	__u32 nr, abi;
	long result;

	if (t->depth || !t->ret.ended)
		return false;
	regs = return_registers(task);
	if (!return_call(regs, &nr, &result))
		return false;
	abi = syscall_abi(task);
	if (call_op(nr, abi) != t->last.op ||
	    (t->last.op == FILE_OPEN ? result < 0 && !t->last.error
				     : (__u32)result != t->last.result) ||
	    !call_wanted(task, t->last.op, regs, abi, &file) || !filter_entry(task))
		return false;
	return_is_fresh(t);
	return true;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
