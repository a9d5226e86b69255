/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * uprobe-defects: how user probes of some kernels damage the programs that they are in.  Each is
 * found by trying it once, in this process or in a child of it, not by the kernel's version.
 */
#pragma once

#include <stdbool.h>
#include <plumb/user/userfuncs.h>

/*
 * Why there must be no uprobe on the first instruction of CODE, since that is a long nop; a static
 * text, or NULL.  CALLED is set if the kernel replaces this nop by a call instead of a breakpoint.
 *
 * Linux 6.18 on x86_64 replaces any nop of 5 bytes.  The call's return address overwrites what the
 * function has below the stack pointer; and a child of fork(2) has the call, but not the page to
 * which it leads: SIGSEGV, also after the probe is gone.  Linux 7.2 replaces one nop of 10 bytes,
 * which other kernels refuse, and does no harm.
 */
const char *plumb_uprobe_nop_obstacle(const void *code, size_t size, bool is_32bit, bool *called);

/* Sets the obstacle of those of the file FD that have a place at such a nop. */
void plumb_uprobe_refuse_nops(int fd, struct plumb_userfuncs *found);

/*
 * Whether return probes (uretprobes) end processes whose seccomp filter does not allow the system
 * call uretprobe, which the return then makes: Linux 6.11 to 6.13 on x86_64.
 */
bool plumb_uretprobe_is_filtered(void);
