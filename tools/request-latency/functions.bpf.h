/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * functions: probes on functions where the kernel has no tracepoints of sockets: before 6.2
 * and 6.3. sock_def_readable() is where sk_data_ready is.  Those that receive and send, by
 * protocol, do what sock_recv_length and sock_send_length follow; their first argument is a struct
 * socket, the fourth of those that receive the flags.
 */
#pragma once

#include <plumb/bpf/function/target.bpf.h>

PLUMB_MAP(request_calls, HASH, REQUEST_CALLS, __u64, struct request_call);

static __always_inline const struct sock *sock_of(__u64 socket)
{
	return BPF_CORE_READ((struct socket *)socket, sk);
}

/* A copy of what is a pointer to the verifier is a number. */
static __always_inline __u64 first_argument(const void *ctx)
{
	__u64 copy = 0;

	bpf_probe_read_kernel(&copy, sizeof(copy), ctx);
	return copy;
}

/* Behind the arguments of an fexit program. */
static __always_inline int function_result(const void *ctx)
{
	switch (PLUMB_TARGET_RESULT_AT(function_own_target())) {
	case 3:
		return argument_at(ctx, 3);
	case 4:
		return argument_at(ctx, 4);
	case 5:
		return argument_at(ctx, 5);
	default:
		return 0;
	}
}

#define function_receives() (PLUMB_TARGET_INDEX(function_own_target()) < request_config.reads)

SEC("fentry")
int fentry_data_ready(const void *ctx)
{
	return data_ready((const struct sock *)first_argument(ctx));
}

SEC("fexit")
int fexit_transfer_ends(const void *ctx)
{
	const struct sock *sk = sock_of(first_argument(ctx));

	return function_receives() ? data_taken(sk, function_result(ctx), argument_at(ctx, 3))
				   : data_sent(sk, function_result(ctx));
}

SEC("kprobe")
int kprobe_data_ready(struct pt_regs *ctx)
{
	return data_ready((const struct sock *)PT_REGS_PARM1(ctx));
}

SEC("kprobe")
int kprobe_transfer_begins(struct pt_regs *ctx)
{
	struct request_call call = {.sk = (__u64)sock_of(PT_REGS_PARM1(ctx)),
				    .flags = PT_REGS_PARM4(ctx)};
	__u64 task = (__u64)current_task();

	if (bpf_map_update_elem(&request_calls, &task, &call, BPF_ANY))
		ledger_count(bpf_get_smp_processor_id(), no_state);
	return 0;
}

SEC("kretprobe")
int kretprobe_transfer_ends(struct pt_regs *ctx)
{
	__u64 task = (__u64)current_task();
	struct request_call *call = bpf_map_lookup_elem(&request_calls, &task);
	const struct sock *sk;
	__u32 flags;

	if (!call)
		return 0;
	sk = (const struct sock *)call->sk;
	flags = call->flags;
	bpf_map_delete_elem(&request_calls, &task);
	return function_receives() ? data_taken(sk, PT_REGS_RC(ctx), flags)
				   : data_sent(sk, PT_REGS_RC(ctx));
}
