/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * asked: the time that a call asks for, which some calls overwrite before they end.  It is read at
 * the entry of the few calls that have one, and nothing else of user memory is.
 */
#pragma once

#include <plumb/bpf/syscall/shape.h>
#include <plumb/bpf/syscall/syscall.bpf.h>

const volatile struct syscall_shape slower_shapes[2 * PLUMB_SYSCALLS] = {};

static __always_inline const volatile struct syscall_shape *shape_of(__u64 call)
{
	__u64 i = (__u32)call;

	barrier_var(i); /* as in selection.bpf.h */
	if (i >= PLUMB_SYSCALLS)
		return NULL;
	return &slower_shapes[(call >> 32 ? PLUMB_SYSCALLS : 0) + i];
}

/* Whether a futex operation has a timeout: its fourth argument is something else otherwise. */
static __always_inline bool futex_has_time(__u32 operation)
{
	/* FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2; without flags */
	return (operation & 127) < 14 &&
	       1U << (operation & 127) & (1 << 0 | 1 << 6 | 1 << 9 | 1 << 11 | 1 << 13);
}

static __noinline int asked_read(struct call_thread *t, __u64 call)
{
	const volatile struct syscall_shape *shape = shape_of(call);
	__u64 arguments[6] = {}, address = 0;
	__u32 i;

	if (!t || !shape)
		return 0;
	syscall_read_arguments(return_registers(current_task()), call >> 32, arguments);
#pragma unroll
	for (i = 0; i < 6; i++)
		if (shape->time == i + 1)
			address = arguments[i];
	if (!address || (shape->is_futex && !futex_has_time(arguments[1])))
		return 0;
	if (shape->time_bytes == 8)
		t->own.asked_known = !bpf_probe_read_user(t->own.asked, 8, (void *)address);
	else
		t->own.asked_known = !bpf_probe_read_user(t->own.asked, 16, (void *)address);
	return 0;
}
