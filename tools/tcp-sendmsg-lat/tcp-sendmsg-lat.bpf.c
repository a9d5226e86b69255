/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The mechanisms on the function: tcp_sendmsg(sk, msg, size). */
#define FUNCTION_ARG_0 0
#define FUNCTION_ARG_1 2
#include <plumb/bpf/function/function.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>

#include "send.bpf.h"

static __always_inline bool function_wanted(struct task_struct *task, const __u64 *args)
{
	(void)task;
	return send_is_wanted((struct sock *)args[0], args[1]);
}

static __always_inline void function_record(struct task_struct *task, const struct function_call *c)
{
	record_send(task, (struct sock *)c->args[0], c->ns, c->args[1], (int)c->ret);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
