/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* asleep: threads whose sleep has not ended. */
#ifndef ASLEEP_H
#define ASLEEP_H

#include "offcpu-time.h"

#include <plumb/inflight/inflight.h>

extern struct offcpu_config offcpu_selection;
extern const struct plumb_inflight asleep;

#endif
