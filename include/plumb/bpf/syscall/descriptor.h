/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* descriptor: what a descriptor is, as metadata of the kernel says; shared by programs and loaders.
 */
#pragma once

#include <plumb/bpf/core/types.h>

enum plumb_descriptor_kind {
	PLUMB_DESCRIPTOR_NONE,
	PLUMB_DESCRIPTOR_PATH, /* names: of the file, and of the directories above it */
	PLUMB_DESCRIPTOR_ANON, /* names: "[eventfd]" */
	PLUMB_DESCRIPTOR_PIPE,
	PLUMB_DESCRIPTOR_SOCKET, /* names: the address of a unix socket, or of its peer */
	PLUMB_DESCRIPTOR_OTHER,  /* names: the type of a file system without paths, "nsfs" */
	PLUMB_DESCRIPTOR_CLOSED, /* by another thread, during the call */
	PLUMB_DESCRIPTOR_KINDS,
};

/* Flags. */
#define PLUMB_DESCRIPTOR_READ    1U /* the end of a pipe */
#define PLUMB_DESCRIPTOR_WRITE   2U
#define PLUMB_DESCRIPTOR_DELETED 4U
#define PLUMB_DESCRIPTOR_WHOLE   8U  /* all names up to the process's root */
#define PLUMB_DESCRIPTOR_PEER    16U /* the unix address is that of the peer */

#define PLUMB_DESCRIPTOR_DEPTH 32  /* directories and mounts */
#define PLUMB_DESCRIPTOR_LEN   256 /* where the last name may begin */
#define PLUMB_DESCRIPTOR_NAME  256 /* NAME_MAX and a NUL */

struct plumb_descriptor {
	__u64 inode;
	__u64 peer_inode;     /* of the socket that a unix socket is connected to; 0: not known */
	__u32 kind, argument; /* from 1 on; SYSCALL_RESULT; SYSCALL_POLLED */
	__u32 flags, length;  /* of NAMES, each of which ends with a NUL; the file's is first */
	/* Of sockets. */
	__u16 family, type, protocol, state;
	__u16 local_port, remote_port;
	__u32 peer_pid; /* of a unix socket; 0: not known */
	__u32 local[4], remote[4];
	__s32 polled; /* the number of SYSCALL_POLLED */
	__u32 pad;
	char names[PLUMB_DESCRIPTOR_LEN + PLUMB_DESCRIPTOR_NAME];
};
