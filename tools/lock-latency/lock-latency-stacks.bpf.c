/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lock-latency --stacks: the same, with other rows. */
#define LOCK_STACKS
#include "lock-latency.bpf.c"
