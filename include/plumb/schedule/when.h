/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * when: a time of the wall clock, as an option takes it.
 *
 *	13:00, 13:00:30             local time, the next occurrence
 *	2026-11-25T13:00:00+01:00   RFC 3339, with Z or an offset
 *	+30s                        that long after a given time
 *	/10s                        the next multiple of that time since 1970, UTC
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum plumb_when_kind {
	PLUMB_WHEN_NEVER,
	PLUMB_WHEN_CLOCK,    /* NS since midnight */
	PLUMB_WHEN_AT,       /* NS since 1970 */
	PLUMB_WHEN_AFTER,    /* NS */
	PLUMB_WHEN_MULTIPLE, /* NS */
};

struct plumb_when {
	enum plumb_when_kind kind;
	uint64_t ns;
};

/* 0 or -EINVAL. */
int plumb_when_parse(const char *text, struct plumb_when *when);
/* The first such time that is later than FROM; for PLUMB_WHEN_AT, that time.  ns since 1970. */
uint64_t plumb_when_resolve(const struct plumb_when *when, uint64_t from);

/*
 * Waits until such a time, counted from now, and sets *CAME to when it came (ns, CLOCK_MONOTONIC).
 * If the wall clock is set meanwhile, a time of the day or a date is waited for by the new clock, a
 * multiple is the next one by the new clock, and "+30s" are 30 s all the same.  0 or -errno.
 */
int plumb_when_wait(const struct plumb_when *when, uint64_t *came);

/* Whether a wait for it depends on what the wall clock is set to. */
bool plumb_when_is_of_clock(const struct plumb_when *when);
