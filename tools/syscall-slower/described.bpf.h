/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * described: the files of a call's descriptors.
 *
 * They are looked up at the end of a slow call, before its thread can do anything else.  Another
 * thread may have closed one meanwhile, and opened another under its number.  So when a thread
 * first leaves its CPU inside of a call, the addresses of its files are noted: until the call ends
 * it holds them, so that no other file has such an address.
 */
#pragma once

#include "asked.bpf.h"
#include <plumb/bpf/syscall/descriptor.bpf.h>

#define CLOSED_MEANWHILE 1 /* instead of a file's address */

/*
 * What the descriptors of a call are.  Only the programs at the ends of calls write it, of which
 * one runs on a CPU at a time.
 */
PLUMB_MAP(described_files, PERCPU_ARRAY, 2, __u32, struct plumb_descriptor);

/*
 * Describes the file at ADDRESS in described_files; 0: there is none.  Not static: so the verifier
 * sees it once, not for each of its callers.
 */
__noinline int described_describe(__u64 address, __u32 i, __u32 argument)
{
	struct plumb_descriptor *d = bpf_map_lookup_elem(&described_files, &i);

	if (!d)
		return 0;
	__builtin_memset(d, 0, sizeof(*d));
	if (!address)
		return 0;
	d->argument = argument;
	if (address == CLOSED_MEANWHILE)
		d->kind = PLUMB_DESCRIPTOR_CLOSED;
	else
		descriptor_describe(d, (struct file *)address);
	return 0;
}

#define POLLED 8 /* of more descriptors in a poll() those that follow are not looked at */

/*
 * Looks up the file of the first descriptor of a poll() that is ready; of one that is not, if there
 * is no other.  Its end writes which are, so that they cannot be noted before.
 */
static __noinline int described_poll(struct call_thread *t, long ret)
{
	struct {
		__s32 fd;
		__u16 events, ready;
	} all[POLLED] = {};
	__u64 n;
	__u32 i;

	if (!t)
		return 0;
	t->own.files[0] = t->own.files[1] = 0;
	if (ret < 0)
		return 0;
	syscall_read_arguments(return_registers(current_task()), t->call >> 32, t->own.values);
	n = t->own.values[1];
	if (!n || (!ret && n > 1))
		return 0;
	if (n > POLLED)
		n = POLLED;
	if (bpf_probe_read_user(all, n * sizeof(*all), (void *)t->own.values[0]))
		return 0;
#pragma unroll
	for (i = 0; i < POLLED; i++) {
		if (i >= n || (ret && !all[i].ready) || all[i].fd < 0)
			continue;
		t->own.polled = all[i].fd;
		t->own.files[0] =
			(__u64)file_of((struct task_struct *)bpf_get_current_task(), all[i].fd);
		return 0;
	}
	return 0;
}

/* The file of argument N, from 1 on, or of the result; 0: none.  VALUES: the arguments. */
static __always_inline __u64 described_file(const __u64 values[8], __u32 n, long ret)
{
	__u64 fd = n == SYSCALL_RESULT ? (__u64)ret : values[(n - 1) & 7];

	if (!n || (__s32)fd < 0)
		return 0;
	return (__u64)file_of((struct task_struct *)bpf_get_current_task(), fd);
}

/* Looks up the files of CALL, in or at whose end the current thread is. */
static __noinline int described_look(struct call_thread *t, __u64 call, long ret)
{
	const volatile struct syscall_shape *shape = shape_of(call);

	if (!t || !shape)
		return 0;
	syscall_read_arguments(return_registers(current_task()), call >> 32, t->own.values);
	t->own.files[0] = described_file(t->own.values, shape->descriptors[0], ret);
	t->own.files[1] = described_file(t->own.values, shape->descriptors[1], ret);
	return 0;
}

/* The current thread leaves its CPU. */
static __always_inline void described_note(struct call_thread *t, struct task_struct *task)
{
	const volatile struct syscall_shape *shape;
	__u64 call;

	if (t->own.noted)
		return;
	t->own.noted = 1;
	call = syscall_word(return_number(return_registers(task)), syscall_abi(task));
	shape = shape_of(call);
	t->own.held[0] = t->own.held[1] = 0;
	if (!shape || !shape->descriptors[0])
		return;
	described_look(t, call, -1);
	t->own.held[0] = t->own.files[0];
	t->own.held[1] = t->own.files[1];
}

/* Describes the files of the call that has ended, of which the state is T; false: it has none. */
static __always_inline bool described_find(const struct timing_call *c, struct call_thread *t)
{
	const volatile struct syscall_shape *shape = shape_of(c->call);
	struct plumb_descriptor *polled;

	/* Where a tracepoint has no way to a call's arguments, the record has none. */
	if (!c->regs && !syscall_registers())
		return false;
	if (!t || !shape || !(shape->descriptors[0] || shape->is_poll) ||
	    !syscall_keeps_arguments(c->call, c->call >> 32, c->ret))
		return false;
	if (shape->is_poll) {
		described_poll(t, c->ret);
		polled = bpf_map_lookup_elem(&described_files, &(__u32){0});
		if (!t->own.files[0] || !polled)
			return false;
		described_describe(t->own.files[0], 0, SYSCALL_POLLED);
		described_describe(0, 1, 0);
		polled->polled = t->own.polled;
		return true;
	}
	described_look(t, c->call, c->ret);
	if (t->own.noted && t->own.held[0] && t->own.files[0] != t->own.held[0])
		t->own.files[0] = CLOSED_MEANWHILE;
	if (t->own.noted && t->own.held[1] && t->own.files[1] != t->own.held[1])
		t->own.files[1] = CLOSED_MEANWHILE;
	if (!t->own.files[0] && !t->own.files[1])
		return false;
	described_describe(t->own.files[0], 0, shape->descriptors[0]);
	described_describe(t->own.files[1], 1, shape->descriptors[1]);
	return true;
}

/* What described_find() has found. */
static __always_inline void described_copy(struct plumb_descriptor to[2])
{
	struct plumb_descriptor *d;
	__u32 i;

#pragma unroll
	for (i = 0; i < 2; i++) {
		d = bpf_map_lookup_elem(&described_files, &(__u32){i});
		bpf_probe_read_kernel(&to[i], sizeof(*to), d);
	}
}
