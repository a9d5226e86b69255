/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * uprobe-defects: how user probes of some kernels damage the programs that they are in.  Each is
 * found by trying it once, in this process or in a child of it, not by the kernel's version.
 */
#pragma once

#include <stdbool.h>
#include <plumb/user/userfuncs.h>

/*
 * Sets the obstacle of functions of the file FD that would be probed at a 5-byte nop inside a
 * function, where this kernel's probes overwrite the function's red zone.  Linux 6.18 on x86_64
 * replaces such a nop by a call, whose return address is written below the stack pointer.
 */
void plumb_uprobe_refuse_nops(int fd, struct plumb_userfuncs *found);

/*
 * Whether return probes (uretprobes) end processes whose seccomp filter does not allow the system
 * call uretprobe, which the return then makes: Linux 6.11 to 6.13 on x86_64.
 */
bool plumb_uretprobe_is_filtered(void);
