/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* runq-inflight: threads that are runnable and have not got a CPU yet. */
#pragma once

#include <plumb/core/inflight.h>

extern const struct plumb_inflight runq_inflight;
