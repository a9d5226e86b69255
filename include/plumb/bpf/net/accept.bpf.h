/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* accept: what the calls accept() and accept4() of the current thread return. */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/core/file.bpf.h>
#include <plumb/bpf/core/socket.bpf.h>

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
