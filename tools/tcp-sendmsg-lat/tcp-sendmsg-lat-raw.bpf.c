/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mechanism of tracepoints, for kernels that allow no programs on functions.
 *
 * tcp_sendmsg_locked fires when TCP is about to take bytes, sock_send_length when the message is
 * done.  No tracepoint fires before the wait for the socket's lock, so the time of a message begins
 * with the system call, or with the end of the previous message of the same call.  It ends with the
 * message, and if the thread is then held on its way out of the call, with that wait.
 */
#include "send.bpf.h"
#include <plumb/bpf/sched/return.h>

#define MAX_RW_COUNT 0x7ffff000 /* include/linux/fs.h */

/* The message that the thread is sending. */
struct sending_thread {
	__u64 since;    /* ns: the call began, or its latest message ended; 0: no call was seen */
	__u64 start;    /* ns: the message in flight began; 0: none is in flight, or not seen */
	__u64 asked;    /* bytes of that message */
	__u64 unwanted; /* the message in flight was filtered when it began */
	struct plumb_return ret; /* the last message */
	struct send_last last;
};

#define PLUMB_THREAD struct sending_thread
#include <plumb/bpf/core/inflight-one.bpf.h>
#define RETURN_CALL send_bytes
#include <plumb/bpf/sched/return.bpf.h>
#include <plumb/bpf/syscall/selection.bpf.h>
#include "held.bpf.h"

/* Atomic: two programs count these, and from 7.0 on they can interrupt each other. */
static __always_inline void count_began(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	atomic_add(&plumb_ledgers[cpu & (PLUMB_LEDGERS - 1)].began, 1);
}

/* Return whether the current thread is inside one of the system calls of BITMAP. */
static __always_inline bool is_in_call(struct task_struct *task, const volatile __u64 *bitmap)
{
	return syscall_is_in(bitmap, return_number(return_registers(task)), syscall_abi(task));
}

/* False if the kernel itself sends, as NFS does inside open(): then since is of an older call. */
static __always_inline bool is_in_send_call(struct task_struct *task)
{
	return is_in_call(task, syscall_config.bitmap);
}

/* The size of a message that TCP did not take: it is empty, or its peer is gone; 0: not known. */
static __always_inline __u64 size_argument(struct task_struct *task)
{
	struct pt_regs *regs = return_registers(task);
	__u64 size;

	if (!is_in_call(task, tcp_config.sized))
		return 0;
	/* ia32 passes its third argument in the same register. */
	size = PT_REGS_PARM3_CORE_SYSCALL(regs);
	return size < MAX_RW_COUNT ? size : MAX_RW_COUNT;
}

SEC("raw_tp/sys_enter")
int call_enter(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 nr = ctx->args[1];
	struct task_struct *task;
	struct sending_thread *t;

	/* Most calls are no send in either table: these need no look at the thread. */
	if (!syscall_selected(nr, PLUMB_ABI_NATIVE) && !syscall_selected(nr, PLUMB_ABI_COMPAT))
		return 0;
	task = bpf_get_current_task_btf();
	if (!filter_thread(task) || !syscall_selected(nr, syscall_abi(task)))
		return 0;
	if (!filter_entry(task)) {
		t = inflight_get(task);
		if (t) {
			return_forget(t);
			t->since = 0;
		}
		return 0;
	}
	t = inflight_make(task);
	if (!t) {
		ledger_count(bpf_get_smp_processor_id(), no_state);
		return 0;
	}
	if (inflight_clear(t, task))
		ledger_count(bpf_get_smp_processor_id(), exit_lost);
	return_forget(t);
	t->unwanted = 0;
	t->last.call = syscall_word(nr, syscall_abi(task));
	t->since = bpf_ktime_get_ns();
	return 0;
}

/* Fires for each piece of a message; at the first one, msg_iter.count is the whole message. */
SEC("raw_tp/tcp_sendmsg_locked")
int send_begin(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sock *sk = (struct sock *)ctx->args[0];
	struct msghdr *msg = (struct msghdr *)ctx->args[1];
	struct sending_thread *t;

	if (!filter_thread(task))
		return 0;
	t = inflight_get(task);
	if (!t || !t->since || t->start || t->unwanted || !is_in_send_call(task))
		return 0;
	t->asked = BPF_CORE_READ(msg, msg_iter.count);
	if (send_is_wanted(sk, t->asked)) {
		count_began();
		t->start = t->since;
	} else {
		t->unwanted = 1;
	}
	return 0;
}

/* The size asked for, which is at least the size that TCP took. */
static __always_inline __u64 at_least(__u64 asked, long ret)
{
	return ret > 0 && asked < (__u64)ret ? (__u64)ret : asked;
}

/*
 * The end of a message whose begin was not recorded: it was filtered then, TCP took nothing of it,
 * or it is older than the trace.  Return whether it is recorded as begun now.
 */
static __always_inline bool begins_at_its_end(struct task_struct *task, struct sending_thread *t,
					      struct sock *sk, long ret)
{
	__u64 asked = at_least(size_argument(task), ret);

	if (t && t->since && is_in_send_call(task)) {
		if (t->unwanted || !send_is_wanted(sk, asked))
			return false;
		count_began();
		t->asked = asked;
		t->start = t->since;
		return true;
	}
	if (plumb_live && filter_entry(task) && send_is_wanted(sk, asked))
		ledger_count(bpf_get_smp_processor_id(), unmatched);
	return false;
}

/* --- waits on the way out of the call --- */

/* A system call of this number, which is a send, has been noted since; inside it has no result. */
static __always_inline bool return_find(struct sending_thread *t, struct task_struct *task)
{
	long result;
	__u32 nr;

	if (t->start || !t->ret.ended || !return_call(return_registers(task), &nr, &result) ||
	    t->last.call != syscall_word(nr, syscall_abi(task)) || !filter_entry(task))
		return false;
	find_slot(t);
	return true;
}

SEC("raw_tp/sock_send_length")
int send_end(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sock *sk = (struct sock *)ctx->args[0];
	__u64 now = bpf_ktime_get_ns();
	long ret = (int)ctx->args[1];
	struct sending_thread *t;

	if (!filter_thread(task) || !socket_is_tcp(sk))
		return 0;
	t = inflight_get(task);
	if (t)
		return_forget(t);
	if ((t && t->start) || begins_at_its_end(task, t, sk, ret)) {
		if (!t) /* never; for the verifier */
			return 0;
		/* kTLS passes a message to TCP in records: t->asked is only of the first. */
		record(t, sk, now - t->start, at_least(t->asked, ret), ret);
		t->ret.ended = now;
	}
	if (t) {
		t->start = t->unwanted = 0;
		if (t->since)
			t->since = now;
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
