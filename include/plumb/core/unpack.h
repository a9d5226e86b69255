/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unpack: BPF objects, which skeletons hold compressed (scripts/lib/pack-skeleton.py). */
#pragma once

#include <stddef.h>
#include <plumb/core/memory.h>

#include <lz4.h>

/*
 * The SIZE bytes in PACKED, a block of lz4's, become UNPACKED bytes, malloc'd; ends the process if
 * they do not.  Of what compresses lz4 takes the least time to unpack, at each start.
 */
static inline const void *plumb_unpack(const void *packed, size_t size, size_t unpacked)
{
	void *bytes = plumb_zeroed(unpacked, 1);

	if (LZ4_decompress_safe(packed, bytes, size, unpacked) != (int)unpacked) {
		plumb_error(EINVAL, "the BPF object in this program is damaged");
		exit(EXIT_FAILURE);
	}
	return bytes;
}
