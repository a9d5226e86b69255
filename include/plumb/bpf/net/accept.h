/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* accept: the numbers of system calls that make connections, for programs on the tracepoints of all
 * calls. */
#pragma once

#include <plumb/bpf/core/types.h>

struct accept_calls {
	__u32 accept, accept4, connect, pad;
};

/* Those of this architecture, for a loader that includes sys/syscall.h. */
#define ACCEPT_CALLS                                                                               \
	((struct accept_calls){                                                                    \
		.accept = SYS_accept, .accept4 = SYS_accept4, .connect = SYS_connect})
