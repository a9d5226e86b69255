/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* builds: calls of each build of the traced files (user/builds.h), by the target's file. */
#pragma once

#include <plumb/bpf/function/function.h>

__u64 build_calls[PLUMB_BUILDS] = {};

static __always_inline void build_count(__u64 target)
{
	atomic_add(&build_calls[PLUMB_TARGET_FILE(target) & (PLUMB_BUILDS - 1)], 1);
}
