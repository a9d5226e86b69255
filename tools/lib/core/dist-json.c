/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/core/dist-json.h>
#include <plumb/core/json.h>
#include <plumb/core/options.h>

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

void plumb_measure_json(const struct plumb_options *o, const struct plumb_dist *d, uint64_t sum,
			json_t *row)
{
	json_t *percentiles = json_object(), *low = json_array();
	uint64_t count = plumb_dist_count(d);

	json_object_set_new(row, "sum", plumb_json_u64(sum));
	json_object_set_new(row, "min", plumb_json_u64(count ? d->min : 0));
	json_object_set_new(row, "max", plumb_json_u64(d->max));
	for (size_t i = 0; i < o->n_percentiles; i++) {
		json_object_set_new(percentiles, o->percentiles[i].name,
				    plumb_json_u64(plumb_percentile(d, o->percentiles[i].p)));
		if (plumb_percentile_is_weak(count, o->percentiles[i].p))
			json_array_append_new(low, json_string(o->percentiles[i].name));
	}
	json_object_set_new(row, "percentiles", percentiles);
	json_object_set_new(row, "low_samples", low);
	json_object_set_new(row, "hist", plumb_dist_json(d));
}
