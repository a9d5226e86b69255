/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The mechanisms on the function: tcp_sendmsg(sk, msg, size). */
#define FUNCTION_LAST            struct send_last
#define FUNCTION_SELECTS(target) true
#include "send.bpf.h"
#include <plumb/bpf/sched/return.h>
#include <plumb/bpf/function/function.bpf.h>
#define RETURN_CALL send_bytes
#include <plumb/bpf/sched/return.bpf.h>
#include <plumb/bpf/syscall/selection.bpf.h>

#include "held.bpf.h"

static __always_inline void function_args(const void *ctx, enum function_hook hook, __u64 target,
					  __u64 *args)
{
	args[0] = function_arg(ctx, hook, 0);
	args[1] = function_arg(ctx, hook, 2);
}

static __always_inline bool function_wanted(struct task_struct *task, __u64 target, __u64 *args)
{
	(void)task, (void)target;
	return send_is_wanted((struct sock *)args[0], args[1]);
}

/* The current thread's system call is that of its last message. */
static __noinline int note_call(struct function_thread *t)
{
	struct task_struct *task = current_task();
	struct pt_regs *regs = return_registers(task);
	__u32 abi = syscall_abi(task);

	if (!t)
		return 0;
	return_settle(t);
	t->last.call = syscall_word(return_number(regs), abi);
	t->last.fd = syscall_first_argument(regs, abi);
	t->ret.ended = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void function_record(struct task_struct *task, const struct function_call *c)
{
	struct function_thread *t = function_config.nested ? inflight_get(task) : NULL;

	if (t)
		note_call(t);
	record(t, (struct sock *)c->args[0], c->ns, c->args[1], (int)c->ret);
}

/*
 * A later call of the same number, descriptor and result would have sent on that socket, too, and
 * have been seen.  A call of several messages has another result.
 */
static __always_inline bool return_find(struct function_thread *t, struct task_struct *task)
{
	const struct send_bytes *b = &t->last.bytes;
	struct pt_regs *regs;
	long result;
	__u32 nr, abi;

	if (t->depth || !t->ret.ended)
		return false;
	regs = return_registers(task);
	abi = syscall_abi(task);
	if (!return_call(regs, &nr, &result) ||
	    (int)result != (t->ret.error ? -(int)t->ret.error : (int)b->sent) ||
	    t->last.call != syscall_word(return_number(regs), abi) ||
	    t->last.fd != syscall_first_argument(regs, abi) || !filter_entry(task))
		return false;
	find_slot(t);
	return true;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
