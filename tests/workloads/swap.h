// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* swap: pages that are in a swap area. */
#pragma once

#include "workload.h"
#include <sys/sysinfo.h>

/* Map those pages again that are still in memory; return whether there were any. */
static inline bool are_in_memory(char *at, size_t pages, size_t size)
{
	unsigned char in_memory;
	bool any = false;

	for (size_t i = 0; i < pages; i++, at += size) {
		if (mincore(at, size, &in_memory))
			die("mincore: %s", strerror(errno));
		if (!(in_memory & 1))
			continue;
		any = true;
		(void)*(volatile char *)at;
	}
	return any;
}

/*
 * Swap the PAGES at AT out, each of SIZE bytes.  Return false if there is no room.  What the kernel
 * has to write stays in memory; told again, it frees what is written.
 */
static inline bool swap_out(char *at, size_t pages, size_t size)
{
	const uint64_t until = now_ns() + 10000000000;
	struct sysinfo info;

	if (sysinfo(&info) || info.freeswap * info.mem_unit < (uint64_t)pages * size)
		return false;
	do {
		if (madvise(at, pages * size, MADV_PAGEOUT))
			return false;
		pause_ns(10000000);
	} while (are_in_memory(at, pages, size) && now_ns() < until);
	return true;
}
