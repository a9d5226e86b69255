/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "users.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/kernel/map.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int map_of(const struct bpf_object *object, const char *name)
{
	return bpf_object__find_map_fd_by_name(object, name);
}

void users_prepare(const struct bpf_object *object)
{
	const int numbers = map_of(object, "plumb_disk_numbers");

	for (uint32_t i = 1; i < PLUMB_DISK_USERS; i++)
		bpf_map_update_elem(numbers, NULL, &i, BPF_ANY);
}

static void read_disks(const struct bpf_object *object, struct disk_users *users)
{
	const int disks = map_of(object, "plumb_disks");
	struct plumb_elements all = {};

	plumb_map_read(disks, &all);
	for (size_t i = 0; i < all.n; i++)
		*plumb_append(users->disks, users->n_disks) = (struct disk_waits){
			((uint32_t *)all.keys)[i], ((struct plumb_disk *)all.values)[i]};
	plumb_elements_free(&all);
}

struct disk_users users_read(const struct bpf_object *object)
{
	const int map = map_of(object, "plumb_disk_users"),
		  sums = map_of(object, "plumb_disk_sums");
	struct disk_users users = {.all = plumb_zeroed(PLUMB_DISK_USERS, sizeof(*users.all)),
				   .n = PLUMB_DISK_USERS};
	struct plumb_elements all = {};
	uint32_t number;

	plumb_map_read(map, &all);
	for (size_t i = 0; i < all.n; i++) {
		number = ((uint32_t *)all.values)[i];
		if (number < users.n)
			users.all[number].who = ((struct plumb_disk_user *)all.keys)[i];
	}
	plumb_elements_free(&all);
	for (number = 0; number < users.n; number++)
		bpf_map_lookup_elem(sums, &number, &users.all[number].sum);
	read_disks(object, &users);
	return users;
}

uint64_t user_count(const struct disk_user *user)
{
	uint64_t n = 0;

	for (int op = 0; op < PLUMB_DISK_OPS; op++)
		n += user->sum.count[op];
	return n;
}

uint64_t user_bytes(const struct disk_user *user)
{
	uint64_t n = 0;

	for (int op = 0; op < PLUMB_DISK_OPS; op++)
		n += user->sum.bytes[op];
	return n;
}

static int by_bytes(const void *a, const void *b)
{
	const struct disk_user *x = a, *y = b;
	const uint64_t p = user_bytes(x), q = user_bytes(y), m = user_count(x), n = user_count(y);

	return (p < q) - (p > q) ?: (m < n) - (m > n) ?: memcmp(&x->who, &y->who, sizeof(x->who));
}

static int by_time(const void *a, const void *b)
{
	const struct disk_waits *x = a, *y = b;

	return (x->of.ns < y->of.ns) - (x->of.ns > y->of.ns)
		       ?: (x->dev > y->dev) - (x->dev < y->dev);
}

static void subtract(struct plumb_disk_sum *sum, const struct plumb_disk_sum *before)
{
	for (int op = 0; op < PLUMB_DISK_OPS; op++) {
		sum->count[op] -= before->count[op];
		sum->bytes[op] -= before->bytes[op];
	}
}

static struct plumb_disk disk_before(const struct disk_users *before, uint32_t dev)
{
	for (size_t i = 0; i < before->n_disks; i++)
		if (before->disks[i].dev == dev)
			return before->disks[i].of;
	return (struct plumb_disk){};
}

struct disk_users users_since(const struct disk_users *now, const struct disk_users *before)
{
	struct disk_users since = {};

	for (size_t i = 0; i < now->n; i++) {
		struct disk_user user = now->all[i];

		if (i < before->n)
			subtract(&user.sum, &before->all[i].sum);
		if (user_count(&user))
			*plumb_append(since.all, since.n) = user;
	}
	for (size_t i = 0; i < now->n_disks; i++) {
		struct disk_waits disk = now->disks[i];
		const struct plumb_disk was = disk_before(before, disk.dev);

		disk.of.count -= was.count;
		disk.of.ns -= was.ns;
		if (disk.of.count || disk.of.waiting > 0)
			*plumb_append(since.disks, since.n_disks) = disk;
	}
	if (since.n)
		qsort(since.all, since.n, sizeof(*since.all), by_bytes);
	if (since.n_disks)
		qsort(since.disks, since.n_disks, sizeof(*since.disks), by_time);
	return since;
}

struct disk_users users_copy(const struct disk_users *users)
{
	struct disk_users copy = {
		.all = plumb_zeroed(users->n ?: 1, sizeof(*copy.all)),
		.n = users->n,
		.disks = plumb_zeroed(users->n_disks ?: 1, sizeof(*copy.disks)),
		.n_disks = users->n_disks,
	};

	if (users->n)
		memcpy(copy.all, users->all, users->n * sizeof(*copy.all));
	if (users->n_disks)
		memcpy(copy.disks, users->disks, users->n_disks * sizeof(*copy.disks));
	return copy;
}

void users_free(struct disk_users *users)
{
	free(users->all);
	free(users->disks);
	*users = (struct disk_users){};
}
