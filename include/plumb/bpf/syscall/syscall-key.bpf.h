/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syscall-key: slots of tools whose rows are system calls. */
#pragma once

#include <plumb/bpf/syscall/syscall.bpf.h>

/* fd_find() sets it before a slot is asked for. */
struct syscall_thread {
	__u64 fd; /* as syscall_key.fd */
};
#define PLUMB_THREAD_OWN syscall_thread

#define PLUMB_KEY struct syscall_key
#include <plumb/bpf/key/key.bpf.h>
#include <plumb/bpf/syscall/fd-key.bpf.h>

/*
 * The part of the key that changes from call to call: 33 bits of call, 12 of errno, the rest is the
 * CPU; on top of them the number of a descriptor, any 64 bits.
 */
static __always_inline __u64 syscall_var(const struct call_thread *t, __u64 call, __u32 error,
					 __u32 cpu)
{
	__u64 var = 0;

	if (plumb_config.by & PLUMB_BY_SYSCALL)
		var = call;
	if (plumb_config.by & PLUMB_BY_ERRNO)
		var |= (__u64)error << 33;
	if (plumb_config.by & PLUMB_BY_CPU)
		var |= (__u64)cpu << 45;
	if (plumb_config.by & PLUMB_BY_FD)
		var ^= t->own.fd;
	return var;
}

/* The slot of a call's key; 0 is [other]. */
static __always_inline __u32 syscall_slot(struct call_thread *t, struct task_struct *task,
					  __u64 call, __u32 error, __u32 cpu)
{
	__u64 var = syscall_var(t, call, error, cpu);
	struct plumb_cached_slot *cached = key_cached(t, var);

	if (cached->valid && cached->var == var) {
		return cached->slot;
	} else {
		struct syscall_key key = {};

		key_who(&key.who, t, task, cpu);
		if (plumb_config.by & PLUMB_BY_SYSCALL) {
			key.nr = call;
			key.abi = call >> 32;
		}
		if (plumb_config.by & PLUMB_BY_ERRNO)
			key.error = error;
		if (plumb_config.by & PLUMB_BY_FD)
			key.fd = t->own.fd;
		return key_slot(cached, var, &key);
	}
}
