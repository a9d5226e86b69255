/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * confine: gives up, for good, what a tool does not need once it is attached.
 *
 * Capabilities are dropped from all sets (libcap), no_new_privs is set, the process is not
 * dumpable, so that others of its user cannot attach to it, and a seccomp filter (libseccomp)
 * refuses system calls but those that read, wait and allocate: EPERM, and a line in the kernel's
 * log.  What was opened before stays usable.  Files can be read; nothing can be executed, opened
 * for writing, connected to, traced or attached.
 */
#pragma once

#include <plumb/core/privileges.h>

/*
 * Gives up everything else, and tells with -v what is kept, or that this kernel has no seccomp
 * filters.  Returns 0, or -errno after a message.
 */
int plumb_confine(void);

/* The same without the filter; capabilities all but KEPT: 0, or -errno after a message. */
int plumb_give_up(uint64_t kept);
