/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* waiting: threads that are runnable and have not got a CPU yet. */
#ifndef WAITING_H
#define WAITING_H

#include <plumb/session/inflight.h>

extern const struct plumb_inflight waiting;

#endif
