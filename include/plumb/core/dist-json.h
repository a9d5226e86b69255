/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dist-json: the buckets of a distribution as JSON (plumb/2). */
#ifndef PLUMB_DIST_JSON_H
#define PLUMB_DIST_JSON_H

#include <jansson.h>
#include <plumb/core/percentile.h>

/* [[lowest, highest, count], ...]; the saturated bucket ends at the maximum. */
json_t *plumb_dist_json(const struct plumb_dist *d);

#endif
