// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* snapshot: what came between two of them. */
#include "unit.h"
#include <plumb/core/snapshot.h>

#define P 6

/* A row of one bucket, as a snapshot holds it. */
static struct plumb_row row(uint32_t slot, const void *key, uint64_t count, uint64_t errors,
			    uint32_t bucket)
{
	struct plumb_row r = {.slot = slot, .key = key, .count = count, .errors = errors};

	r.dist.precision = P;
	r.dist.min = plumb_bucket_lowest(bucket, P);
	r.dist.max = plumb_bucket_highest(bucket, P);
	r.sum = count * r.dist.max;
	r.counters[0] = count * 100;
	r.counters[1] = count * 99;
	r.dist.n = count ? 1 : 0;
	r.dist.buckets = calloc(1, sizeof(*r.dist.buckets));
	r.dist.buckets[0] = (struct plumb_bucket){bucket, count};
	return r;
}

static void add(struct plumb_snapshot *s, struct plumb_row r)
{
	s->rows = realloc(s->rows, (s->n + 1) * sizeof(*s->rows));
	s->rows[s->n++] = r;
}

static void differences_are_by_slot(void **state)
{
	struct plumb_snapshot older = {.clock = 100}, now = {.clock = 350, .taken = {.tv_sec = 7}},
			      delta;
	const char *keys = "abcd";

	add(&older, row(0, NULL, 5, 1, 300));
	add(&older, row(2, keys, 10, 0, 300));
	add(&older, row(3, keys + 1, 20, 2, 300));
	add(&now, row(0, NULL, 5, 1, 300));      /* nothing new */
	add(&now, row(1, keys + 2, 4, 4, 310));  /* new */
	add(&now, row(2, keys, 33, 3, 300));     /* 23 more */
	add(&now, row(3, keys + 1, 20, 5, 300)); /* only errors more */
	add(&now, row(4, keys + 3, 0, 0, 300));  /* a key, but no call yet */
	assert_int_equal(plumb_snapshot_since(&delta, &now, &older), 0);
	assert_int_equal(delta.n, 3);
	assert_int_equal(delta.clock, 350);
	assert_int_equal(delta.taken.tv_sec, 7);

	assert_int_equal(delta.rows[0].slot, 1);
	assert_ptr_equal(delta.rows[0].key, keys + 2);
	assert_int_equal(delta.rows[0].count, 4);
	assert_int_equal(delta.rows[0].errors, 4);
	assert_int_equal(plumb_dist_count(&delta.rows[0].dist), 4);

	assert_int_equal(delta.rows[1].slot, 2);
	assert_ptr_equal(delta.rows[1].key, keys);
	assert_int_equal(delta.rows[1].count, 23);
	assert_int_equal(delta.rows[1].errors, 3);
	assert_int_equal(delta.rows[1].sum, 23 * plumb_bucket_highest(300, P));
	assert_int_equal(delta.rows[1].counters[0], 2300);
	assert_int_equal(delta.rows[1].counters[1], 23 * 99);
	assert_int_equal(plumb_dist_count(&delta.rows[1].dist), 23);

	assert_int_equal(delta.rows[2].slot, 3);
	assert_int_equal(delta.rows[2].count, 0);
	assert_int_equal(delta.rows[2].errors, 3);
	assert_int_equal(delta.rows[2].dist.n, 0);

	/* What they were taken from is as it was. */
	assert_int_equal(now.rows[2].count, 33);
	assert_int_equal(plumb_dist_count(&now.rows[2].dist), 33);
	assert_int_equal(plumb_dist_count(&older.rows[1].dist), 10);
	plumb_snapshot_free(&delta);
	plumb_snapshot_free(&now);
	plumb_snapshot_free(&older);
}

static void rows_of_one_key_are_joined_by_slot(void **state)
{
	struct plumb_snapshot s = {};

	add(&s, row(0, NULL, 5, 1, 300));
	add(&s, row(1, "a", 1, 0, 300));
	add(&s, row(2, "b", 2, 0, 300));
	add(&s, row(5, "a", 4, 0, 300));
	add(&s, row(6, "a", 8, 0, 300));
	assert_int_equal(plumb_snapshot_join(&s, 1), 0);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.rows[1].count, 13);
	assert_int_equal(s.rows[2].count, 2);
	assert_int_equal(plumb_snapshot_joined(&s, 1), 5);
	assert_int_equal(plumb_snapshot_joined(&s, 5), 6);
	assert_int_equal(plumb_snapshot_joined(&s, 6), 0);
	assert_int_equal(plumb_snapshot_joined(&s, 2), 0);
	assert_int_equal(plumb_snapshot_joined(&s, 7), 0);
	plumb_snapshot_free(&s);
	/* Nobody joined them. */
	assert_int_equal(plumb_snapshot_joined(&s, 1), 0);
}

static void since_nothing_is_everything(void **state)
{
	struct plumb_snapshot older = {}, now = {}, delta;

	add(&now, row(0, NULL, 7, 0, 200));
	add(&now, row(9, "x", 23, 1, 200));
	assert_int_equal(plumb_snapshot_since(&delta, &now, &older), 0);
	assert_int_equal(delta.n, 2);
	assert_int_equal(delta.rows[0].count, 7);
	assert_int_equal(delta.rows[1].count, 23);
	assert_int_equal(delta.rows[1].dist.buckets[0].count, 23);
	plumb_snapshot_free(&delta);
	assert_int_equal(delta.n, 0);
	plumb_snapshot_free(&now);
}

static void nothing_since_is_nothing(void **state)
{
	struct plumb_snapshot older = {}, now = {}, delta;

	assert_int_equal(plumb_snapshot_since(&delta, &now, &older), 0);
	assert_int_equal(delta.n, 0);
	plumb_snapshot_free(&delta);
	add(&older, row(1, "x", 23, 1, 200));
	add(&now, row(1, "x", 23, 1, 200));
	assert_int_equal(plumb_snapshot_since(&delta, &now, &older), 0);
	assert_int_equal(delta.n, 0);
	plumb_snapshot_free(&delta);
	plumb_snapshot_free(&now);
	plumb_snapshot_free(&older);
}

static void add_parts(struct plumb_row *r, uint32_t bucket, uint64_t ns, uint64_t led)
{
	struct plumb_split_buckets *p;

	r->split = realloc(r->split, (r->n_split + 1) * sizeof(*r->split));
	p = &r->split[r->n_split++];
	*p = (struct plumb_split_buckets){.bucket = bucket};
	for (int i = 0; i < PLUMB_ALL_PARTS; i++) {
		p->ns[i] = ns * (i + 1);
		p->led[i] = led * (i + 1);
	}
}

static void parts_are_subtracted_by_bucket(void **state)
{
	struct plumb_snapshot older = {}, now = {}, delta;

	add(&older, row(1, "x", 10, 0, 300));
	add_parts(&older.rows[0], 300, 1000, 1);
	add_parts(&older.rows[0], 400, 70, 0); /* time whose call is not counted yet */
	add(&now, row(1, "x", 30, 0, 300));
	add_parts(&now.rows[0], 200, 5, 5); /* new */
	add_parts(&now.rows[0], 300, 1000, 1);
	add_parts(&now.rows[0], 400, 77, 1);
	add(&now, row(2, "y", 0, 0, 300));
	add_parts(&now.rows[1], 300, 1, 0); /* nothing else yet: kept, or the sums were not whole */
	assert_int_equal(plumb_snapshot_since(&delta, &now, &older), 0);
	assert_int_equal(delta.n, 2);
	assert_int_equal(delta.rows[0].n_split, 2);
	assert_int_equal(delta.rows[0].split[0].bucket, 200);
	assert_int_equal(delta.rows[0].split[0].ns[PLUMB_ON_CPU], 5 * (PLUMB_ON_CPU + 1));
	assert_int_equal(delta.rows[0].split[1].bucket, 400);
	assert_int_equal(delta.rows[0].split[1].ns[PLUMB_RUNQ], 7 * (PLUMB_RUNQ + 1));
	assert_int_equal(delta.rows[0].split[1].led[PLUMB_BLOCKED], PLUMB_BLOCKED + 1);
	assert_int_equal(delta.rows[1].n_split, 1);
	plumb_snapshot_free(&delta);
	plumb_snapshot_free(&now);
	plumb_snapshot_free(&older);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_are_by_slot),
		cmocka_unit_test(rows_of_one_key_are_joined_by_slot),
		cmocka_unit_test(since_nothing_is_everything),
		cmocka_unit_test(nothing_since_is_nothing),
		cmocka_unit_test(parts_are_subtracted_by_bucket),
	};

	return run_all(tests);
}
