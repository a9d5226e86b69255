/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * times: --every.  Which times have reports, so that one without calls differs from one without
 * data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct time_of {
	uint64_t start, reports, reach; /* REACH: the last end of its reports */
};

struct times {
	struct time_of *all; /* that are not printed yet, in order */
	size_t n, room;
	uint64_t reach; /* of the reports of times that are printed */
};

/* A report that starts in the time START, until END. */
void times_add(struct times *t, uint64_t start, uint64_t end);
/*
 * The time START, EVERY long, is printed: how many reports started in it, and whether any was of
 * it.  Returns its end; after more than a thousand times without a report, the end of these.
 */
uint64_t times_take(struct times *t, uint64_t start, uint64_t every, uint64_t *reports,
		    bool *has_data);
void times_free(struct times *t);
