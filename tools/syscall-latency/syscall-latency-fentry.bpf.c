/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fentry: on the functions of a few system calls, so that no other call of the
 * machine pays anything.
 *
 * Each call has programs of its own, which can interleave on a CPU; a slot
 * must therefore belong to one call (the loader sees to it).
 */
#include "handlers.bpf.h"
#include "syscall-latency.h"

const volatile __u32 fentry_nrs[SYSCALL_LATENCY_FUNCTIONS] = {};

static __always_inline int function_enter(__u64 *ctx, __u32 nr)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	struct plumb_current now = current_get();

	if (filter_thread(&now) && filter_entry(&now) && syscall_arguments_match(regs))
		enter(&now, nr, PLUMB_ABI_NATIVE);
	return 0;
}

/* The end runs only for calls whose entry ran: without a state it was rejected there. */
static __always_inline int function_exit(__u64 *ctx)
{
	struct plumb_current now = current_get();
	struct plumb_thread *t;

	if (!filter_thread(&now))
		return 0;
	t = inflight_get(&now);
	if (t && t->start)
		leave(t, &now, bpf_ktime_get_ns(), ctx[1]);
	return 0;
}

/* One pair a function; the loader says which function and leaves out those not needed. */
#define PAIR(i)                                                                                    \
	SEC("fentry")                                                                              \
	int enter_##i(__u64 *ctx)                                                                  \
	{                                                                                          \
		return function_enter(ctx, fentry_nrs[i]);                                         \
	}                                                                                          \
	SEC("fexit")                                                                               \
	int exit_##i(__u64 *ctx)                                                                   \
	{                                                                                          \
		return function_exit(ctx);                                                         \
	}

PAIR(0)
PAIR(1)
PAIR(2)
PAIR(3)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
