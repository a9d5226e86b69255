/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live: attach probes to the targets and count how often they fire, in all processes. */
#pragma once

#include "check/kernel.h"

/*
 * Attach to each target that accepts a probe, count fires for NS, and add the result to the
 * verdicts.  Return the number of targets that were attached to, or -errno after a message.
 */
int live_check(const struct kernel *k, struct check *checks, size_t n, uint64_t ns);

/* Whether the policy forbade one of them. */
bool live_is_forbidden(void);
