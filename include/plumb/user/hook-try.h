/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hook try: the kinds of hooks that this kernel allows, found by attaching each for a moment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <plumb/functions/hooks.h>

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
 * Prepares the opened program P for the entry of FUNCTION (fentry), or, if that is not possible on
 * this kernel, so that it is not loaded.  FUNCTION NULL: the kernel has none.  Returns which.
 */
bool plumb_hook_if_possible(struct bpf_program *p, const char *function);
