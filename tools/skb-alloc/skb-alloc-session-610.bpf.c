/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define PLUMB_KFUNC_FORM 610
#include "skb-alloc.bpf.c"
