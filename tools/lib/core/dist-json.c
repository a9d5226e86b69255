/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/core/dist-json.h>
#include <plumb/core/json.h>

json_t *plumb_dist_json(const struct plumb_dist *d)
{
	json_t *all = json_array(), *b;
	uint64_t highest;

	for (size_t i = 0; i < d->n; i++) {
		highest = plumb_bucket_highest(d->buckets[i].index, d->precision);
		b = json_array();
		json_array_append_new(
			b, plumb_json_u64(plumb_bucket_lowest(d->buckets[i].index, d->precision)));
		json_array_append_new(b, plumb_json_u64(highest == UINT64_MAX ? d->max : highest));
		json_array_append_new(b, plumb_json_u64(d->buckets[i].count));
		json_array_append_new(all, b);
	}
	return all;
}
