/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "sums.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/core/text.h>
#include <plumb/kernel/map.h>
#include <plumb/meanwhile/meanwhile.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int by_key(const void *a, const void *b)
{
	const struct meanwhile_one *x = a, *y = b;

	return memcmp(&x->key, &y->key, sizeof(x->key));
}

static int by_time(const void *a, const void *b)
{
	const struct meanwhile_one *x = a, *y = b;

	return (x->sum.ns < y->sum.ns) - (x->sum.ns > y->sum.ns) ?: by_key(a, b);
}

static void sort(struct meanwhile_sums *sums)
{
	if (sums->n)
		qsort(sums->all, sums->n, sizeof(*sums->all), by_time);
}

void meanwhile_prepare(const struct bpf_object *object)
{
	const int map = bpf_object__find_map_fd_by_name(object, "plumb_meanwhile");
	const struct plumb_meanwhile unknown = {.kind = PLUMB_MEANWHILE_UNKNOWN};
	const struct plumb_meanwhile_sum none = {};

	bpf_map_update_elem(map, &unknown, &none, BPF_NOEXIST);
}

struct meanwhile_sums meanwhile_read(const struct bpf_object *object)
{
	const int map = bpf_object__find_map_fd_by_name(object, "plumb_meanwhile");
	struct meanwhile_sums sums = {};
	struct plumb_elements all = {};
	const struct plumb_meanwhile *keys;
	const struct plumb_meanwhile_sum *each;

	plumb_map_read(map, &all);
	keys = all.keys;
	each = all.values;
	for (size_t i = 0; i < all.n; i++)
		if (each[i].count)
			*plumb_append(sums.all, sums.n) = (struct meanwhile_one){keys[i], each[i]};
	plumb_elements_free(&all);
	sort(&sums);
	return sums;
}

struct meanwhile_sums meanwhile_since(const struct meanwhile_sums *now,
				      const struct meanwhile_sums *before)
{
	struct meanwhile_sums sums = {},
			      old = {plumb_zeroed(before->n, sizeof(*old.all)), before->n};

	if (old.n) {
		memcpy(old.all, before->all, old.n * sizeof(*old.all));
		qsort(old.all, old.n, sizeof(*old.all), by_key);
	}
	for (size_t i = 0; i < now->n; i++) {
		const struct meanwhile_one *was =
			old.n ? bsearch(&now->all[i], old.all, old.n, sizeof(*old.all), by_key)
			      : NULL;
		struct meanwhile_one one = now->all[i];

		if (was) {
			one.sum.ns -= was->sum.ns;
			one.sum.count -= was->sum.count;
		}
		if (one.sum.count)
			*plumb_append(sums.all, sums.n) = one;
	}
	free(old.all);
	sort(&sums);
	return sums;
}

void meanwhile_free(struct meanwhile_sums *sums)
{
	free(sums->all);
	*sums = (struct meanwhile_sums){};
}

void plumb_meanwhile_path(const struct bpf_object *object, uint64_t id, char *text, size_t size)
{
	const int map = bpf_object__find_map_fd_by_name(object, "plumb_meanwhile_paths");
	char whole[PLUMB_MEANWHILE_DEPTH * PLUMB_MEANWHILE_NAME + 8];
	struct plumb_meanwhile_path path;

	if (bpf_map_lookup_elem(map, &id, &path)) {
		snprintf(text, size, "[unknown]");
		return;
	}
	strcpy(whole, path.cut ? "..." : "");
	for (int i = PLUMB_MEANWHILE_DEPTH - 1; i >= 0; i--) {
		if (!*path.names[i])
			continue;
		strcat(whole, "/");
		strncat(whole, path.names[i], PLUMB_MEANWHILE_NAME);
	}
	plumb_escape(text, *whole ? whole : "/", size);
}
