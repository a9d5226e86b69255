/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * seen: which reports were read, and which are held back.  Dumps of a flight recorder share the
 * intervals that were kept when each was written; copies of a file share all.  The last interval of
 * a dump is in progress, unless it is final: the next dump may have all of it.
 */
#pragma once

#include "reading/line.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reports after that many are not looked for: 32 bytes each. */
#define SEEN_MOST (1u << 20)

struct held {
	struct held *next;
	uint64_t hash, start, length, count;
	char *text; /* for line_read() */
};

struct seen {
	void *hashes; /* a tree of search.h, whose keys are the hashes themselves */
	size_t n;
	struct held *held;
};

/*
 * Whether a report of that host, tool, number and start was read before; it is from now on.  What
 * hist-merge wrote is never: results of different options have the same number and time.
 */
bool seen_before(struct seen *s, const struct line *l);

/* Holds back the incomplete report; false: one that began with it, and is not shorter, is held. */
bool seen_hold(struct seen *s, const struct line *l, const char *text, size_t n);
/* One of those that began before TIME, for the caller to free with its text; NULL: none. */
struct held *seen_release(struct seen *s, uint64_t time);

void seen_free(struct seen *s);
