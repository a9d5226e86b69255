/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* users: the sums of the programs, by user and disk. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/block/disks.h>

struct bpf_object;

struct disk_user {
	struct plumb_disk_user who; /* all 0: those of which there was no room */
	struct plumb_disk_sum sum;
};

struct disk_waits {
	uint32_t dev;
	struct plumb_disk of;
};

struct disk_users {
	struct disk_user *all; /* by their numbers; sorted by users_since() */
	size_t n;
	struct disk_waits *disks;
	size_t n_disks;
};

/* Lets the programs number users. */
void users_prepare(const struct bpf_object *object);

/*
 * What there is now. What there was more at NOW than BEFORE: by disk, that with the longest waits
 * first, and by bytes. What is returned is freed by the
 * last one.
 */
struct disk_users users_read(const struct bpf_object *object);
struct disk_users users_since(const struct disk_users *now, const struct disk_users *before);
struct disk_users users_copy(const struct disk_users *users);
void users_free(struct disk_users *users);

uint64_t user_count(const struct disk_user *user);
uint64_t user_bytes(const struct disk_user *user);
