/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* types: __u32 and the like, for BPF programs and for loaders. */
#pragma once

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif
