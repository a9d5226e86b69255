/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* slower: --slower, single waits, with what happened on their CPUs meanwhile. */
#pragma once

#include <plumb/recorder/in-order.h>

extern struct plumb_in_order runq_slow;
