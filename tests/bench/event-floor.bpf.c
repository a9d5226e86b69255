/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The least that a tracer can do at the hooks of tools of rare events. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

const volatile bool clock_is_read = false;

__u64 event_last = 0;

static __always_inline int event(void)
{
	if (clock_is_read)
		event_last = bpf_ktime_get_ns();
	return 0;
}

#define FLOOR(name, hook)                                                                          \
	SEC("raw_tp/" hook) int name(void *ctx __attribute__((unused)))                            \
	{                                                                                          \
		return event();                                                                    \
	}

FLOOR(softirq_begins, "softirq_entry")
FLOOR(softirq_ends, "softirq_exit")
/* As often as tcp-connect-latency runs its program. */
FLOOR(connect_0, "inet_sock_set_state")
FLOOR(connect_1, "inet_sock_set_state")
FLOOR(retransmit_0, "tcp_retransmit_skb")
FLOOR(retransmit_1, "tcp_retransmit_skb")
FLOOR(retransmit_drop, "kfree_skb")
FLOOR(request_arrives, "sk_data_ready")
FLOOR(request_is_read, "sock_recv_length")
FLOOR(request_is_answered, "tcp_sendmsg_locked")
FLOOR(request_was_answered, "sock_send_length")
FLOOR(request_softirq_begins, "softirq_entry")
FLOOR(request_softirq_ends, "softirq_exit")
FLOOR(request_interrupt_begins, "reschedule_entry")
FLOOR(request_interrupt_ends, "reschedule_exit")
FLOOR(request_server_leaves, "sched_switch")
FLOOR(request_server_wakes, "sched_waking")

char LICENSE[] SEC("license") = "Dual BSD/GPL";
