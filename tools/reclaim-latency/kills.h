/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kills: processes that the kernel killed to get memory, for the end of a report. */
#pragma once

#include <jansson.h>
#include <linux/types.h>
#include <stdio.h>
#include <plumb/core/ring.h>

extern const struct plumb_ring_handlers reclaim_kills;
extern const __u64 *reclaim_kills_lost; /* of the programs */

void reclaim_kills_print(FILE *out);
void reclaim_kills_json(json_t *json);
