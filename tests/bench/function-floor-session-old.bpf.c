/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sessions of kernels from 6.10 to 6.19. */
#define FLOOR_SESSION void
#define FLOOR_CTX
#include "function-floor.bpf.c"
