// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kept: rows that are packed are the same afterwards; the ring, its memory, and what it forgets. */
#include "unit.h"
#include <errno.h>
#include <plumb/core/run.h>
#include <plumb/recorder/kept.h>
#include <plumb/recorder/packed.h>

#define SLOTS 64
#define P     6

static uint64_t keys[SLOTS];

/* Mostly small numbers, and sometimes one of all 64 bits. */
static uint64_t any(uint64_t *random)
{
	return next_random(random) >> (next_random(random) % 64);
}

static void fill_dist(struct plumb_dist *d, uint64_t *random)
{
	uint32_t index = 0;

	*d = (struct plumb_dist){.n = next_random(random) % 200, .precision = P};
	d->buckets = calloc(d->n ?: 1, sizeof(*d->buckets));
	for (size_t i = 0; i < d->n; i++) {
		index += 1 + next_random(random) % 20;
		d->buckets[i] = (struct plumb_bucket){index, any(random) ?: 1};
	}
	d->min = d->n ? any(random) : UINT64_MAX;
	d->max = d->n ? any(random) : 0;
}

/* Rows of all kinds; without a value, what belongs to it is absent. */
static struct plumb_snapshot random_rows(uint64_t *random, size_t n)
{
	struct plumb_snapshot s = {.rows = calloc(n ?: 1, sizeof(*s.rows)), .n = n};

	for (size_t i = 0; i < n; i++) {
		struct plumb_row *row = &s.rows[i];

		row->slot = i % SLOTS;
		row->key = row->slot ? &keys[row->slot] : NULL;
		row->count = any(random);
		row->errors = next_random(random) & 1 ? any(random) : 0;
		row->sum = any(random);
		row->counters[0] = next_random(random) & 1 ? any(random) : 0;
		row->counters[1] = next_random(random) & 1 ? any(random) : 0;
		fill_dist(&row->dist, random);
		if (next_random(random) & 1) {
			fill_dist(&row->second, random);
			row->second_sum = any(random);
		}
		if (next_random(random) & 1) {
			row->n_split = next_random(random) % 5;
			row->split = calloc(row->n_split ?: 1, sizeof(*row->split));
			for (size_t j = 0; j < row->n_split; j++) {
				row->split[j].bucket = 3 * j + i;
				for (int p = 0; p < PLUMB_MAX_PARTS; p++) {
					row->split[j].ns[p] = any(random);
					row->split[j].led[p] = any(random);
				}
			}
		}
	}
	return s;
}

static void same_dist(const struct plumb_dist *a, const struct plumb_dist *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert_int_equal(a->buckets[i].index, b->buckets[i].index);
		assert_int_equal(a->buckets[i].count, b->buckets[i].count);
	}
	if (!a->n)
		return;
	assert_int_equal(a->precision, b->precision);
	assert_int_equal(a->min, b->min);
	assert_int_equal(a->max, b->max);
}

static void same_row(const struct plumb_row *a, const struct plumb_row *b)
{
	assert_int_equal(a->slot, b->slot);
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->errors, b->errors);
	assert_int_equal(a->sum, b->sum);
	assert_int_equal(a->counters[0], b->counters[0]);
	assert_int_equal(a->counters[1], b->counters[1]);
	assert_int_equal(a->second_sum, b->second_sum);
	same_dist(&a->dist, &b->dist);
	same_dist(&a->second, &b->second);
	assert_int_equal(!a->split, !b->split);
	assert_int_equal(a->n_split, b->n_split);
	assert_memory_equal(a->split ? (const void *)a->split : "",
			    b->split ? (const void *)b->split : "", a->n_split * sizeof(*a->split));
}

static void packed_rows_are_the_same(void **state)
{
	struct plumb_snapshot rows, again;
	struct plumb_packed packed;
	uint64_t random = 42;

	for (size_t round = 0; round < 200; round++) {
		rows = random_rows(&random, round % SLOTS);
		assert_int_equal(plumb_pack_rows(&rows, &packed), 0);
		assert_int_equal(plumb_unpack_rows(&packed, keys, sizeof(*keys), SLOTS, &again), 0);
		assert_int_equal(rows.n, again.n);
		for (size_t i = 0; i < rows.n; i++) {
			same_row(&rows.rows[i], &again.rows[i]);
			assert_ptr_equal(rows.rows[i].key, again.rows[i].key);
		}
		plumb_snapshot_free(&rows);
		plumb_snapshot_free(&again);
		free(packed.bytes);
	}
}

/* Whatever the bytes, nothing is read beyond them, and no slot has no key. */
static void damaged_bytes_are_refused_or_rows(void **state)
{
	struct plumb_snapshot rows, again;
	struct plumb_packed packed, part;
	uint64_t random = 23;

	rows = random_rows(&random, 10);
	assert_int_equal(plumb_pack_rows(&rows, &packed), 0);
	assert_int_equal(plumb_unpack_rows(&packed, keys, sizeof(*keys), 9, &again), -EBADMSG);
	for (size_t n = 0; n < packed.size; n++) {
		part = (struct plumb_packed){malloc(n ?: 1), n};
		memcpy(part.bytes, packed.bytes, n);
		assert_int_equal(plumb_unpack_rows(&part, keys, sizeof(*keys), SLOTS, &again),
				 -EBADMSG);
		free(part.bytes);
	}
	for (size_t i = 0; i < packed.size; i++) {
		packed.bytes[i] ^= 1 << random % 8;
		next_random(&random);
		if (!plumb_unpack_rows(&packed, keys, sizeof(*keys), SLOTS, &again))
			plumb_snapshot_free(&again);
	}
	plumb_snapshot_free(&rows);
	free(packed.bytes);
}

static const struct plumb_tool tool = {
	.card.name = "unit",
	.keys.size = sizeof(*keys),
	.measure.kind = PLUMB_TIMES,
};
static struct plumb_run run = {.tool = &tool, .options.max_keys = SLOTS - 1};

/* Adds the interval SEQ of N rows. */
static size_t add(struct plumb_kept *k, uint64_t seq, size_t n)
{
	uint64_t random = seq;
	struct plumb_snapshot rows = random_rows(&random, n);
	const struct plumb_snapshot total = {.ledger.began = seq};
	const struct plumb_report r = {
		.run = &run, .snap = &rows, .total = &total, .seq = seq, .elapsed = 1};
	const size_t before = k->bytes;

	assert_int_equal(plumb_kept_add(k, &r), 0);
	plumb_snapshot_free(&rows);
	return k->bytes - before;
}

static const struct plumb_kept_interval *nth(const struct plumb_kept *k, size_t i)
{
	return &k->all[(k->first + i) % k->most];
}

static void plan(struct plumb_kept *k, uint64_t time, uint64_t interval)
{
	run.options.keep.time = time;
	run.options.keep.interval = interval;
	plumb_kept_plan(k, &tool, &run.options);
	assert_int_equal(plumb_kept_open(k), 0);
}

static void the_oldest_goes_when_the_ring_is_full(void **state)
{
	struct plumb_kept k;

	plan(&k, 100, 15);
	assert_int_equal(k.most, 7);
	for (uint64_t seq = 1; seq <= 23; seq++) {
		add(&k, seq, 3);
		assert_int_equal(k.n, seq < 7 ? seq : 7);
		for (size_t i = 0; i < k.n; i++) {
			assert_int_equal(nth(&k, i)->seq, seq - k.n + 1 + i);
			assert_int_equal(nth(&k, i)->ledger.began, nth(&k, i)->seq);
		}
	}
	assert_int_equal(k.forgotten, 0);
	plumb_kept_free(&k);
}

static void the_memory_is_bounded(void **state)
{
	struct plumb_kept k;
	size_t sum;

	plan(&k, 100, 1);
	k.budget = 20000;
	for (uint64_t seq = 1; seq <= 50; seq++) {
		add(&k, seq, seq % SLOTS);
		sum = 0;
		for (size_t i = 0; i < k.n; i++)
			sum += nth(&k, i)->rows.size;
		assert_int_equal(sum, k.bytes);
		check(k.bytes <= k.budget || k.n == 1, "%zu bytes of %zu intervals", k.bytes, k.n);
		assert_int_equal(k.n + k.forgotten, seq);
		assert_int_equal(nth(&k, k.n - 1)->seq, seq);
	}
	assert_true(k.forgotten > 20);
	plumb_kept_free(&k);
	assert_int_equal(k.bytes, 0);
}

/* 10 minutes of 10 s, 64 keys, 100 buckets of small counts each: as the manual says. */
static void the_plan_suffices_for_a_hundred_buckets(void **state)
{
	struct plumb_bucket buckets[100];
	struct plumb_row rows[SLOTS];
	struct plumb_snapshot snap = {.rows = rows, .n = SLOTS};
	const struct plumb_snapshot total = {};
	const struct plumb_report r = {.run = &run, .snap = &snap, .total = &total};
	struct plumb_kept k;

	for (size_t i = 0; i < LENGTH(buckets); i++)
		buckets[i] = (struct plumb_bucket){1000 + 2 * i, 300 + i};
	for (size_t i = 0; i < SLOTS; i++)
		rows[i] =
			(struct plumb_row){.slot = i,
					   .key = &keys[i],
					   .count = 35000,
					   .sum = 1ULL << 40,
					   .dist = {buckets, LENGTH(buckets), P, 1 << 20, 1 << 25}};
	plan(&k, 600, 10);
	for (int i = 0; i < 100; i++)
		assert_int_equal(plumb_kept_add(&k, &r), 0);
	assert_int_equal(k.n, 60);
	assert_int_equal(k.forgotten, 0);
	assert_true(k.budget <= 4 << 20);
	plumb_kept_free(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_rows_are_the_same),
		cmocka_unit_test(damaged_bytes_are_refused_or_rows),
		cmocka_unit_test(the_oldest_goes_when_the_ring_is_full),
		cmocka_unit_test(the_memory_is_bounded),
		cmocka_unit_test(the_plan_suffices_for_a_hundred_buckets),
	};

	return run_all(tests);
}
