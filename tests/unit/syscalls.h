/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syscalls: names of system calls by number, for tests. */
#pragma once

#include "unit.h"
#include <plumb/syscalls/syscall-options.h>

#if defined(__x86_64__)
#define COMPAT "ia32:"
#else
#define COMPAT "arm:"
#endif

static const char *name(uint32_t nr, uint32_t abi)
{
	static char text[64];

	return plumb_syscall_name(nr, abi, text, sizeof(text));
}
