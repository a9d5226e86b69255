/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* hooks: which kinds of hooks this kernel lets us have, found by having one for a moment. */
#ifndef PLUMB_HOOKS_H
#define PLUMB_HOOKS_H

#include <plumb/attach/probe.h>
#include <stddef.h>

/* "raw_tracepoint", "kprobe.multi", ...: as --mechanism has it. */
const char *plumb_hook_name(enum plumb_hook hook);

/*
 * Attaches a program that does nothing to what hardly ever fires (the tracepoint
 * task:task_rename, the kernel's own test function, a function of this process)
 * and detaches it at once.  Returns 0, or -errno with WHY it was refused, in words
 * to go behind "refused: ": "EPERM, kernel lockdown (integrity)".
 *
 * HOOK: raw tracepoint, tracepoint, fentry, fexit, fsession, kprobe, kprobe.multi,
 * kprobe.session, uprobe.
 */
int plumb_hook_try(enum plumb_hook hook, char *why, size_t size);

#endif
