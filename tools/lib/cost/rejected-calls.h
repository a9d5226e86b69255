/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rejected-calls: makes calls that the tool's programs reject as those of other processes.
 *
 * The tool's own calls are rejected first and most cheaply.  Where the filters reject every new
 * process, the calls of the self-test are made by one; otherwise by the tool.
 */
#ifndef REJECTED_CALLS_H
#define REJECTED_CALLS_H

#include <plumb/session/session.h>
#include <plumb/attach/self-test.h>

void plumb_rejected_calls_run(const struct plumb_session *s, struct plumb_self_test *self_test,
			      uint64_t budget);

#endif
