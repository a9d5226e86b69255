/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sessions of kernels from 7.0 on, whose kfuncs take the context. */
#define FLOOR_SESSION void *ctx
#define FLOOR_CTX     ctx
#include "function-floor.bpf.c"
