// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* All elements of a hash map are read while a thread adds and deletes others. */
#include "unit.h"
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/kernel/map.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define STAYS  3001 /* keys below are in the map all the time */
#define KEYS   4096
#define ROUNDS 200

static int map;
static uint64_t changes;
static bool ended;

static int make(enum bpf_map_type type, size_t value, uint32_t n, uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = flags);

	return bpf_map_create(type, "test_map", sizeof(uint64_t), value, n, &opts);
}

static uint64_t value_of(uint64_t key)
{
	return key * 3 + 1;
}

static void add(uint64_t key)
{
	const uint64_t value = value_of(key);

	assert_int_equal(bpf_map_update_elem(map, &key, &value, BPF_ANY), 0);
}

/* Keys come and go; each takes the memory, hence the place in a list, of another. */
static void *change(void *unused)
{
	uint64_t random = 1, key, value;

	while (!__atomic_load_n(&ended, __ATOMIC_RELAXED)) {
		key = STAYS + next_random(&random) % (KEYS - STAYS);
		value = value_of(key);
		if (bpf_map_delete_elem(map, &key))
			bpf_map_update_elem(map, &key, &value, BPF_ANY);
		__atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
	}
	return unused;
}

/* Each key is read at most once, those that stay exactly once. */
static void check_elements(const struct plumb_elements *e)
{
	const uint64_t *keys = e->keys, *values = e->values;
	uint8_t found[KEYS] = {};
	size_t n = 0;

	check(e->n <= KEYS, "%zu elements", e->n);
	for (size_t i = 0; i < e->n; i++) {
		check(keys[i] < KEYS, "key %" PRIu64, keys[i]);
		check(values[i] == value_of(keys[i]), "key %" PRIu64, keys[i]);
		check(!found[keys[i]]++, "key %" PRIu64, keys[i]);
		n += keys[i] < STAYS;
	}
	check(n == STAYS, "%zu of %d", n, STAYS);
}

static void read_while_it_changes(enum bpf_map_type type, uint32_t flags)
{
	struct plumb_elements elements = {};
	pthread_t thread;

	if (geteuid())
		skip();
	map = make(type, sizeof(uint64_t), KEYS, flags);
	check(map >= 0, "%s", strerror(errno));
	for (uint64_t key = 0; key < STAYS; key++)
		add(key);
	ended = false;
	changes = 0;
	assert_int_equal(pthread_create(&thread, NULL, change, NULL), 0);
	/* It has run before the first and between the first and the last. */
	for (int i = 0; i < ROUNDS || __atomic_load_n(&changes, __ATOMIC_RELAXED) < KEYS; i++) {
		assert_int_equal(plumb_map_read(map, &elements), 0);
		check_elements(&elements);
	}
	ended = true;
	pthread_join(thread, NULL);
	plumb_elements_free(&elements);
	assert_int_equal(elements.n, 0);
	close(map);
}

static void each_key_once(void **unused)
{
	read_while_it_changes(BPF_MAP_TYPE_HASH, 0);
}

static void each_key_once_of_allocated_elements(void **unused)
{
	read_while_it_changes(BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC);
}

static void values_of_all_cpus(void **unused)
{
	const int cpus = libbpf_num_possible_cpus();
	struct plumb_elements e = {};
	uint64_t each[cpus];

	if (geteuid())
		skip();
	map = make(BPF_MAP_TYPE_PERCPU_HASH, sizeof(uint32_t), KEYS, 0);
	check(map >= 0, "%s", strerror(errno));
	for (uint64_t key = 0; key < KEYS; key++) {
		for (int cpu = 0; cpu < cpus; cpu++)
			each[cpu] = key * cpus + cpu;
		assert_int_equal(bpf_map_update_elem(map, &key, each, BPF_ANY), 0);
	}
	assert_int_equal(plumb_map_read(map, &e), 0);
	assert_int_equal(e.n, KEYS);
	for (size_t i = 0; i < e.n * cpus; i++)
		assert_int_equal(((uint64_t *)e.values)[i],
				 ((uint64_t *)e.keys)[i / cpus] * cpus + i % cpus);
	plumb_elements_free(&e);
	close(map);
}

static uint32_t rotate(uint32_t n, int by)
{
	return n << by | n >> (32 - by);
}

/* The kernel's hash of a key of two words, with BPF_F_ZERO_SEED: the end of Jenkins's lookup3. */
static uint32_t hash(uint64_t key)
{
	static const uint8_t by[] = {14, 11, 25, 16, 4, 14, 24};
	uint32_t w[3] = {0xdeadbeef + 8 + (uint32_t)key, 0xdeadbeef + 8 + (uint32_t)(key >> 32),
			 0xdeadbeef + 8};

	for (size_t i = 0; i < LENGTH(by); i++) {
		uint32_t *to = &w[(i + 2) % 3], from = w[(i + 1) % 3];

		*to = (*to ^ from) - rotate(from, by[i]);
	}
	return w[2];
}

static void buckets_of_many(void **unused)
{
	enum { MANY = 700, OTHERS = 300 };
	struct plumb_elements e = {};
	uint64_t key = 0, sum = 0, keys[600], values[600];
	uint32_t bucket, count = 600;

	if (geteuid())
		skip();
	map = make(BPF_MAP_TYPE_HASH, sizeof(uint64_t), 1024, BPF_F_ZERO_SEED);
	check(map >= 0, "%s", strerror(errno));
	for (int n = 0; n < MANY; key++)
		if (!(hash(key) % 1024) && ++n) {
			add(key);
			sum += key;
		}
	/* The kernel refuses to read a part of the first bucket. */
	assert_int_equal(bpf_map_lookup_batch(map, NULL, &bucket, keys, values, &count, NULL),
			 -ENOSPC);
	for (int n = 0; n < OTHERS; n++, sum += key++)
		add(key);
	assert_int_equal(plumb_map_read(map, &e), 0);
	assert_int_equal(e.n, MANY + OTHERS);
	for (size_t i = 0; i < e.n; i++)
		sum -= ((uint64_t *)e.keys)[i];
	assert_int_equal(sum, 0);
	plumb_elements_free(&e);
	close(map);
}

static void errors_leave_nothing(void **unused)
{
	struct plumb_elements e = {.n = 7};
	char text[128];

	plumb_divert(text, sizeof(text));
	assert_true(plumb_map_read(-1, &e) < 0);
	assert_int_equal(e.n, 0);
	if (!geteuid()) {
		map = make(BPF_MAP_TYPE_HASH, sizeof(uint64_t), 1, 0);
		assert_int_equal(plumb_map_read(map, &e), 0);
		assert_int_equal(e.n, 0);
		close(map);
	}
	plumb_divert(NULL, 0);
	plumb_elements_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_key_once),
		cmocka_unit_test(each_key_once_of_allocated_elements),
		cmocka_unit_test(values_of_all_cpus),
		cmocka_unit_test(buckets_of_many),
		cmocka_unit_test(errors_leave_nothing),
	};

	return run_all(tests);
}
