/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* made report: a report of rows that a test makes, of a tool that counts or times calls. */
#pragma once

#include "unit.h"
#include <plumb/bpf/hist/hist.h>
#include <plumb/bpf/key/key.h>
#include <plumb/core/report.h>
#include <plumb/core/tool.h>

#define PRECISION 6
#define MAX_ROWS  8

static struct plumb_who keys[MAX_ROWS];
static struct plumb_bucket buckets[MAX_ROWS];
static struct plumb_row rows[MAX_ROWS];
static struct plumb_tool tool;
static const struct plumb_mechanism mechanism = {.name = "none", .stability = "stable"};
static struct plumb_run run;
static struct plumb_snapshot snap;
static struct plumb_report report;

/* Of times, grouped by pid and name, with two percentiles, of 10 s. */
static inline void begin_report(void)
{
	tool = (struct plumb_tool){.card.name = "unit", .keys.size = sizeof(struct plumb_who)};
	run = (struct plumb_run){
		.tool = &tool,
		.options = {.by = PLUMB_BY_PID | PLUMB_BY_COMM,
			    .precision = PRECISION,
			    .percentiles = {{50000000, "50"}, {99900000, "99.9"}},
			    .n_percentiles = 2},
		.instance = {.mechanism = &mechanism, .bpf.hooks = {"sys_enter"}},
		.overhead = {.how = "not asked for"},
		.rings = -1,
	};
	snap = (struct plumb_snapshot){.rows = rows, .missed_known = true};
	report = (struct plumb_report){
		.run = &run, .snap = &snap, .total = &snap, .elapsed = 10000000000, .seq = 1};
	memset(keys, 0, sizeof(keys));
}

/* COUNT calls of NS each; a NULL name is [other]. */
static inline struct plumb_row *add_row(const char *comm, uint32_t pid, uint64_t count, uint64_t ns)
{
	struct plumb_row *row = &rows[snap.n];
	uint32_t index = 0;

	while (plumb_bucket_highest(index, PRECISION) < ns)
		index++;
	keys[snap.n].pid = pid;
	if (comm)
		strncpy(keys[snap.n].comm, comm, PLUMB_COMM_LEN - 1);
	buckets[snap.n] = (struct plumb_bucket){index, count};
	*row = (struct plumb_row){.slot = comm ? snap.n + 1 : 0,
				  .key = &keys[snap.n],
				  .count = count,
				  .sum = count * ns};
	row->dist = (struct plumb_dist){&buckets[snap.n], 1, PRECISION, ns, ns};
	snap.n++;
	return row;
}
