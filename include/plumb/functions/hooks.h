/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hooks: names of hooks, and which of them this kernel lacks. */
#pragma once

#include <stddef.h>
#include <plumb/functions/probe.h>

/* The name for --mechanism: "raw_tracepoint", "kprobe.multi", ... */
const char *plumb_hook_name(enum plumb_hook hook);

/*
 * Whether this kernel lacks kprobes or links to many functions, found without attaching anything,
 * so that large programs need not be loaded for them.  Returns 0 if it has them, or if HOOK is
 * another one; else -errno with the reason in WHY.
 */
int plumb_hook_missing(enum plumb_hook hook, char *why, size_t size);

struct bpf_program;

/* Sets the function to which the opened program P is attached, if the policy allows it. */
int plumb_hook_set_function(struct bpf_program *p, const char *function);
