/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rejected-calls: makes calls that the tool's programs reject, to measure what a rejection costs.
 *
 * The programs reject the tool's own calls first, at a lower cost than the calls of other
 * processes.  If the filters reject every new process, a new process therefore makes the calls of
 * the self-test; otherwise the tool makes them itself.
 */
#ifndef REJECTED_CALLS_H
#define REJECTED_CALLS_H

#include <plumb/core/run.h>
#include <plumb/user/self-test.h>

void plumb_rejected_calls_run(const struct plumb_run *run, struct plumb_self_test *self_test,
			      uint64_t budget);

#endif
