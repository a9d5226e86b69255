/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* live: do probes on the targets fire?  Everybody's fires are counted, and nothing but counted. */
#ifndef LIVE_H
#define LIVE_H

#include "kernel.h"

/*
 * Attaches to each target that will take a probe, counts for NS, and adds to the
 * verdicts what that says.  How many could be tried, or -errno after saying what is
 * wrong.
 */
int live_check(const struct kernel *k, struct check *checks, size_t n, uint64_t ns);

#endif
