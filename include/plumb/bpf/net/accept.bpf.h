/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * accept: what the calls accept() and accept4() of the current thread return.
 *
 * Programs on the tracepoints of single calls can be preempted where those of raw tracepoints can
 * (7.x), and are skipped for other threads meanwhile.  There a tool loads those on the tracepoints
 * of all calls, which cannot.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/core/file.bpf.h>
#include <plumb/bpf/core/socket.bpf.h>
#include <plumb/bpf/net/accept.h>

const volatile struct accept_calls accept_calls = {};

static __always_inline bool accept_is(long call)
{
	return call == accept_calls.accept || call == accept_calls.accept4;
}

/* The socket of descriptor FD of the current thread; NULL: there is none, or it is no socket. */
static __always_inline struct sock *accept_socket(long fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct file *file = fd < 0 ? NULL : file_of(task, fd);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;

	/* Another thread can have closed it, and have opened something else. */
	if (!inode || (BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFSOCK)
		return NULL;
	return socket_of(file);
}
