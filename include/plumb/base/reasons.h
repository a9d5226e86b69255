/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* reasons: what stands behind an error that the kernel gives, beside the kernel itself. */
#ifndef PLUMB_REASONS_H
#define PLUMB_REASONS_H

#include <stdbool.h>

/* Why something is not permitted to this process, as plumb_errno_hint() says it. */
const char *plumb_not_permitted(void);

/* Is there the memory that any tool takes?  What fails for want of it fails by many names. */
bool plumb_has_memory(void);

/* The limit of this process or system that ERR means or may come from; NULL: there is none. */
const char *plumb_limit_hit(int err);

#endif
