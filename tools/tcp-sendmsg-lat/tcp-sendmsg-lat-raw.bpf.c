/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mechanism on tracepoints, for kernels that let no program onto a function.
 *
 * tcp_sendmsg_locked fires when TCP is about to take bytes, sock_send_length
 * when the message is done.  There is none before the socket's lock is waited
 * for, so a message's time begins where the system call does, or where the
 * message before it in the same call ended.
 */
#include "send.bpf.h"

#define MAX_RW_COUNT 0x7ffff000 /* include/linux/fs.h */

/* The message that the thread is sending. */
struct plumb_thread {
	__u64 since;    /* ns: the call began, or its latest message ended; 0: no call was seen */
	__u64 start;    /* that of the message that is under way; 0: none is known to be */
	__u64 asked;    /* of it */
	__u64 unwanted; /* the message under way was rejected when it began */
};

#include <plumb/bpf/core/inflight.bpf.h>

/* Ends what the thread is inside; how many sends is that? */
static __always_inline __u32 inflight_clear(struct plumb_thread *t, struct task_struct *task)
{
	__u32 was = t && t->start;

	(void)task;
	if (t)
		t->start = 0;
	return was;
}

#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/syscall/selection.bpf.h>

/* Two programs count these, which can interrupt each other from 7.0 on. */
static __always_inline void count_began(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	__sync_fetch_and_add(&plumb_ledgers[cpu & (PLUMB_LEDGERS - 1)].began, 1);
}

/* Is the current thread inside one of these calls? */
static __always_inline bool is_in_call(struct task_struct *task, const volatile __u64 *bitmap)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

#if defined(__TARGET_ARCH_x86)
	return syscall_is_in(bitmap, BPF_CORE_READ(regs, orig_ax), syscall_abi(task));
#else
	return syscall_is_in(bitmap, BPF_CORE_READ(regs, syscallno), syscall_abi(task));
#endif
}

/* Not so where the kernel itself sends, as NFS does inside open(): then SINCE is older. */
static __always_inline bool is_in_send_call(struct task_struct *task)
{
	return is_in_call(task, syscall_config.bitmap);
}

/* Of a message that TCP did not take: an empty one, or one to a peer that is gone. */
static __always_inline __u64 size_argument(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u64 size;

	if (!is_in_call(task, tcp_config.sized))
		return 0;
	/* ia32 has its third argument there too. */
	size = PT_REGS_PARM3_CORE_SYSCALL(regs);
	return size < MAX_RW_COUNT ? size : MAX_RW_COUNT;
}

SEC("raw_tp/sys_enter")
int call_enter(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 nr = ctx->args[1];
	struct task_struct *task;
	struct plumb_thread *t;

	/* Most calls are no send in either table: nobody need be asked. */
	if (!syscall_selected(nr, PLUMB_ABI_NATIVE) && !syscall_selected(nr, PLUMB_ABI_COMPAT))
		return 0;
	task = bpf_get_current_task_btf();
	if (!filter_thread(task) || !syscall_selected(nr, syscall_abi(task)))
		return 0;
	if (!filter_entry(task)) {
		t = inflight_get(task);
		if (t)
			t->since = 0;
		return 0;
	}
	t = inflight_make(task);
	if (!t) {
		ledger_count(bpf_get_smp_processor_id(), no_state);
		return 0;
	}
	if (inflight_clear(t, task))
		ledger_count(bpf_get_smp_processor_id(), exit_lost);
	t->unwanted = 0;
	t->since = bpf_ktime_get_ns();
	return 0;
}

/* Fires for each piece of a message; the first has all of it before it. */
SEC("raw_tp/tcp_sendmsg_locked")
int send_begin(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sock *sk = (struct sock *)ctx->args[0];
	struct msghdr *msg = (struct msghdr *)ctx->args[1];
	struct plumb_thread *t;

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

/* What was asked for is not less than what was taken. */
static __always_inline __u64 at_least(__u64 asked, long ret)
{
	return ret > 0 && asked < (__u64)ret ? (__u64)ret : asked;
}

/* A message that began unseen: rejected then, not taken by TCP at all, or older than the trace. */
static __always_inline bool begins_at_its_end(struct task_struct *task, struct plumb_thread *t,
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

static __always_inline void record(struct task_struct *task, const struct plumb_thread *t,
				   struct sock *sk, __u64 ns, long ret)
{
	if ((tcp_config.only_errors && ret >= 0) || ns < tcp_config.min_ns)
		ledger_count(bpf_get_smp_processor_id(), filtered_at_exit);
	else
		/* A message through kTLS goes down in records, of which the first was seen. */
		record_send(task, sk, ns, at_least(t->asked, ret), ret);
}

SEC("raw_tp/sock_send_length")
int send_end(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sock *sk = (struct sock *)ctx->args[0];
	__u64 now = bpf_ktime_get_ns();
	long ret = (int)ctx->args[1];
	struct plumb_thread *t;

	if (!filter_thread(task) || !send_is_tcp(sk))
		return 0;
	t = inflight_get(task);
	if ((t && t->start) || begins_at_its_end(task, t, sk, ret)) {
		if (!t) /* never; for the verifier */
			return 0;
		record(task, t, sk, now - t->start, ret);
	}
	if (t) {
		t->start = t->unwanted = 0;
		if (t->since)
			t->since = now;
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
