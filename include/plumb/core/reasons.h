/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* reasons: names and likely causes of kernel errors. */
#pragma once

#include <errno.h>
#include <stdbool.h>

/* The error of attaching to what a policy forbids; the kernel does not return it for that. */
#define PLUMB_FORBIDDEN EKEYREJECTED

/* "EPERM" for 1 or -1; also codes that only the kernel uses; "errno 4000" if it has no name. */
const char *plumb_errno_name(int error);
/* A likely cause if the kernel refused a probe: ", CONFIG_KPROBES is off"; "": not known. */
const char *plumb_errno_hint(int error);

/* Says who forbids what PLUMB_FORBIDDEN stands for, in the form of plumb_errno_hint(). */
void plumb_forbidden_by(const char *(*reason)(void));

/* Why this process is not permitted to do something, in the form of plumb_errno_hint(). */
const char *plumb_not_permitted(void);

/* Why attaching by a perf event failed with EACCES, in the same form. */
const char *plumb_perf_not_permitted(void);

/* Whether the memory that every tool needs is available; without it errors are misleading. */
bool plumb_has_memory(void);

/* The limit of this process or system that may have caused ERR; NULL: none. */
const char *plumb_limit_hit(int err);
