/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* areas: what unwind.c has to say to it; plumb/unwind/unwind.h has the rest. */
#pragma once

#include <stdint.h>

/* --user-stacks, PLUMB_USER_STACKS_*, before the first configuration. */
extern uint32_t unwind_how;
