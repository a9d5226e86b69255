/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * packed: the rows of an interval in little memory.
 *
 * Numbers are in base 128, the low digits first, the highest bit of a byte set if another follows.
 * Buckets are differences of indices with their counts: mostly 3 bytes each.  Keys are not in it: a
 * slot belongs to the same key until the end of a run.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <plumb/core/snapshot.h>

struct plumb_packed {
	uint8_t *bytes; /* malloc'd */
	size_t size;
};

/* Packs the rows of SNAP.  0 or -ENOMEM. */
int plumb_pack_rows(const struct plumb_snapshot *snap, struct plumb_packed *packed);
/*
 * The rows again, in SNAP, which is to be freed; nothing else of SNAP is set.  KEYS has a key of
 * KEY_SIZE bytes for each slot, and must outlive SNAP.  0, -ENOMEM, or -EBADMSG if PACKED is
 * damaged or names a slot that is not below SLOTS.
 */
int plumb_unpack_rows(const struct plumb_packed *packed, const void *keys, size_t key_size,
		      size_t slots, struct plumb_snapshot *snap);
