/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* What the program does: nothing, or look at the stack of the kernel, or also the user's. */
enum floor_step { FLOOR_EMPTY, FLOOR_KERNEL, FLOOR_BOTH };

struct floor_stacks {
	__u64 kernel[127], user[127];
};
