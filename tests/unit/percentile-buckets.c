// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* percentile-buckets: buckets packed, added up and subtracted. */
#include "percentile.h"

/* --- buckets --- */

static void packing_keeps_what_is_not_empty(void **state)
{
	const uint64_t sparse[] = {0, 7, 0, 0, 1, UINT64_MAX, 0}, empty[5] = {0};
	struct plumb_bucket *buckets;

	assert_int_equal(plumb_buckets_pack(sparse, LENGTH(sparse), &buckets), 3);
	assert_int_equal(buckets[0].index, 1);
	assert_int_equal(buckets[0].count, 7);
	assert_int_equal(buckets[1].index, 4);
	assert_int_equal(buckets[1].count, 1);
	assert_int_equal(buckets[2].index, 5);
	assert_int_equal(buckets[2].count, UINT64_MAX);
	free(buckets);
	buckets = NULL;
	assert_int_equal(plumb_buckets_pack(empty, LENGTH(empty), &buckets), 0);
	assert_non_null(buckets);
	free(buckets);
	assert_int_equal(plumb_buckets_pack(NULL, 0, &buckets), 0);
	free(buckets);
}

static void assert_same_counts(const struct plumb_dist *a, const struct plumb_dist *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert_int_equal(a->buckets[i].index, b->buckets[i].index);
		assert_int_equal(a->buckets[i].count, b->buckets[i].count);
	}
}

/* Buckets add up: of shards, of hosts. */
static void shards_sum_to_the_whole(void **state)
{
	enum { SHARDS = 7, N = 20011, P = 6 };
	static uint64_t sum[sizeof(dense) / sizeof(dense[0])];
	struct plumb_dist whole, merged = {.precision = P, .min = UINT64_MAX}, shard;
	uint64_t seed = 4711, part[N];
	size_t n;

	for (size_t i = 0; i < N; i++)
		data[i] = log_uniform(&seed);
	memset(sum, 0, sizeof(sum));
	for (size_t s = 0; s < SHARDS; s++) {
		n = 0;
		for (size_t i = s; i < N; i += SHARDS)
			part[n++] = data[i];
		shard = dist_of(part, n, P);
		for (size_t i = 0; i < shard.n; i++)
			sum[shard.buckets[i].index] += shard.buckets[i].count;
		merged.min = shard.min < merged.min ? shard.min : merged.min;
		merged.max = shard.max > merged.max ? shard.max : merged.max;
		free(shard.buckets);
	}
	merged.n = plumb_buckets_pack(sum, plumb_hist_buckets(P), &merged.buckets);
	whole = dist_of(data, N, P);
	assert_same_counts(&merged, &whole);
	for (size_t i = 0; i < LENGTH(asked); i++)
		assert_int_equal(plumb_percentile(&merged, asked[i]),
				 plumb_percentile(&whole, asked[i]));
	free(merged.buckets);
	free(whole.buckets);
}

/* --- differences --- */

/* Data of BEFORE, then of AFTER more: what the difference says of the latter. */
static void subtract_and_compare(uint64_t (*earlier)(uint64_t *), size_t before,
				 uint64_t (*later)(uint64_t *), size_t after, uint64_t seed)
{
	struct plumb_dist older, d, exact;
	uint64_t *rest = data + before, least, most;

	for (size_t i = 0; i < before; i++)
		data[i] = earlier(&seed);
	for (size_t i = 0; i < after; i++)
		rest[i] = later(&seed);
	older = dist_of(data, before, 6);
	d = dist_of(data, before + after, 6);
	exact = dist_of(rest, after, 6);
	plumb_dist_subtract(&d, &older);
	assert_same_counts(&d, &exact);
	qsort(rest, after, sizeof(*rest), rising);
	if (after) {
		least = rest[0];
		most = rest[after - 1];
		/* The extremes are those of the interval or, where only the whole run's are known,
		 * in their bucket. */
		check(d.min <= least && plumb_hist_index(d.min, 6) == plumb_hist_index(least, 6),
		      "%lu for %lu", d.min, least);
		check(d.max >= most && plumb_hist_index(d.max, 6) == plumb_hist_index(most, 6),
		      "%lu for %lu", d.max, most);
		for (size_t i = 0; i < LENGTH(asked); i++)
			compare_one("difference", &d, rest[nearest_rank(after, asked[i]) - 1],
				    asked[i]);
	}
	free(older.buckets);
	free(d.buckets);
	free(exact.buckets);
}

static void differences_are_what_came_between(void **state)
{
	subtract_and_compare(uniform, 5000, uniform, 5000, 1);
	subtract_and_compare(heavy_tailed, 1009, two_humps, 23, 2);
	subtract_and_compare(two_humps, 23, heavy_tailed, 1009, 3);
	subtract_and_compare(log_uniform, 20011, log_uniform, 1, 4);
	subtract_and_compare(nearly_normal, 0, nearly_normal, 1000, 5);
	subtract_and_compare(nearly_normal, 1000, nearly_normal, 0, 6);
}

static void difference_of_equals_is_empty(void **state)
{
	struct plumb_dist d, same;

	for (size_t i = 0; i < 100; i++)
		data[i] = i * i;
	d = dist_of(data, 100, 6);
	same = dist_of(data, 100, 6);
	plumb_dist_subtract(&d, &same);
	assert_int_equal(d.n, 0);
	assert_int_equal(plumb_percentile(&d, 50 * PLUMB_PERCENT), 0);
	free(d.buckets);
	free(same.buckets);
}

static void extremes_of_a_difference_are_bounded_by_its_buckets(void **state)
{
	struct plumb_dist d, older;

	/* Before: 10 and a million. Since: two of 5001. The run's extremes are not the interval's.
	 */
	data[0] = 10;
	data[1] = 1000000;
	data[2] = data[3] = 5001;
	older = dist_of(data, 2, 6);
	d = dist_of(data, 4, 6);
	plumb_dist_subtract(&d, &older);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.buckets[0].count, 2);
	assert_int_equal(d.min, 4992); /* 78 * 64: of [4992, 5055] */
	assert_int_equal(d.max, 5055);
	free(older.buckets);
	free(d.buckets);
	/* The run's maximum came since: it is exact. */
	data[0] = 10;
	data[1] = 5001;
	older = dist_of(data, 1, 6);
	d = dist_of(data, 2, 6);
	plumb_dist_subtract(&d, &older);
	assert_int_equal(d.max, 5001);
	assert_int_equal(d.min, 4992);
	free(older.buckets);
	free(d.buckets);
	/* And beyond the range only the run's maximum is known. */
	data[0] = RANGE + 7;
	data[1] = RANGE + 5;
	older = dist_of(data, 1, 6);
	d = dist_of(data, 2, 6);
	plumb_dist_subtract(&d, &older);
	assert_int_equal(d.min, RANGE + 5);
	assert_int_equal(d.max, RANGE + 7);
	free(older.buckets);
	free(d.buckets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packing_keeps_what_is_not_empty),
		cmocka_unit_test(shards_sum_to_the_whole),
		cmocka_unit_test(differences_are_what_came_between),
		cmocka_unit_test(difference_of_equals_is_empty),
		cmocka_unit_test(extremes_of_a_difference_are_bounded_by_its_buckets),
	};

	return run_all(tests);
}
