/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dist-json: a distribution as JSON (plumb/2). */
#pragma once

#include <jansson.h>
#include <plumb/core/percentile.h>

/* [[lowest, highest, count], ...]; the saturated bucket ends at the maximum. */
json_t *plumb_dist_json(const struct plumb_dist *d);

/* Sets the members of a row, or of its second measure: sum, min, max, percentiles, hist. */
struct plumb_options;
void plumb_measure_json(const struct plumb_options *o, const struct plumb_dist *d, uint64_t sum,
			json_t *row);
