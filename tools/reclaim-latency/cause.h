/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cause: what threads stall for, as text. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "reclaim-latency.h"

#define RECLAIM_CAUSE 320 /* bytes of a text that hold each cause */

extern const char *const reclaim_kinds[RECLAIM_KINDS];

/* "direct reclaim, order 0, GFP_KERNEL"; return TEXT. */
const char *reclaim_cause_text(const struct reclaim_cause *cause, char *text, size_t size);
/* As the kernel's own messages have them, "GFP_KERNEL|__GFP_COMP"; "-", null: not known. */
void reclaim_gfp_text(__u32 gfp, char *text, size_t size);
json_t *reclaim_gfp_json(__u32 gfp);
