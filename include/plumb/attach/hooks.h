/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hooks: the kinds of hooks that this kernel allows, found by attaching each for a moment. */
#ifndef PLUMB_HOOKS_H
#define PLUMB_HOOKS_H

#include <plumb/attach/probe.h>
#include <stddef.h>

/* The name for --mechanism: "raw_tracepoint", "kprobe.multi", ... */
const char *plumb_hook_name(enum plumb_hook hook);

/*
 * Attaches an empty program to a function or tracepoint that rarely fires (the tracepoint
 * task:task_rename, the kernel's own test function, a function of this process)
 * and detaches it immediately.  Returns 0, or -errno with the reason in WHY, for a
 * message after "refused: ": "EPERM, kernel lockdown (integrity)".
 *
 * HOOK: raw tracepoint, tracepoint, fentry, fexit, fsession, kprobe, kprobe.multi,
 * kprobe.session, uprobe.
 */
int plumb_hook_try(enum plumb_hook hook, char *why, size_t size);

/*
 * Whether this kernel lacks kprobes or links to many functions, found without attaching anything,
 * so that large programs need not be loaded for them.  Returns 0 if it has them, or if HOOK is
 * another one; else as plumb_hook_try().
 */
int plumb_hook_missing(enum plumb_hook hook, char *why, size_t size);

struct bpf_program;

/* Sets the function to which the opened program P is attached, if the policy allows it. */
int plumb_hook_set_function(struct bpf_program *p, const char *function);

/*
 * Prepares the opened program P for the entry of FUNCTION (fentry), or, if that is not possible on
 * this kernel, so that it is not loaded.  FUNCTION NULL: the kernel has none.  Returns which.
 */
bool plumb_hook_if_possible(struct bpf_program *p, const char *function);

#endif
