/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/snapshot.h>
#include <plumb/kernel/map.h>

#include <bpf/libbpf.h>

#include "rows.h"

/* Context and buffers for reading a slot. */
struct reader {
	const struct plumb_config *config;
	size_t key_size;
	/* map descriptors; hists is negative if there are no histograms */
	int keys, totals, hists, splits;
	/*
	 * Arrays of buckets.  Totals follow, and then the buckets' times if these are kept: SUM's
	 * are TIMES.
	 */
	uint64_t *shard, *sum, *times;
	/*
	 * Of each bucket, the ns of all parts off the CPU, and the calls of which they were the
	 * largest (split-hist.bpf.h); NULL: calls are not split.
	 */
	uint64_t *off;
};

static void add_totals(struct plumb_totals *sum, const struct plumb_totals *t)
{
	sum->count += t->count;
	sum->errors += t->errors;
	sum->sum += t->sum;
	for (int i = 0; i < PLUMB_COUNTERS; i++)
		sum->counters[i] += t->counters[i];
	if (t->max > sum->max)
		sum->max = t->max;
	if (t->inverted_min > sum->inverted_min)
		sum->inverted_min = t->inverted_min;
}

static const uint64_t *ns_at(const struct reader *r, uint32_t bucket)
{
	return r->off + 2 * r->config->parts * bucket;
}

static const uint64_t *led_at(const struct reader *r, uint32_t bucket)
{
	return ns_at(r, bucket) + r->config->parts;
}

/* If each CPU has its own histogram, the slot's totals follow the buckets. */
static int read_hist(const struct reader *r, uint32_t slot, struct plumb_dist *dist,
		     struct plumb_totals *all)
{
	const struct plumb_config *c = r->config;
	const uint64_t *times = r->shard + c->buckets + sizeof(*all) / sizeof(*times);
	const bool split = r->off && slot < c->slots; /* not the second measure */
	uint64_t *into;
	uint32_t at;
	long n;

	if (split && plumb_map_lookup(r->splits, &slot, r->off))
		return -errno;
	for (uint32_t shard = 0; shard < c->shards; shard++) {
		at = slot * c->shards + shard;
		into = shard ? r->shard : r->sum;
		if (plumb_map_lookup(r->hists, &at, into))
			return -errno;
		for (uint32_t i = 0; shard && i < c->buckets; i++)
			r->sum[i] += r->shard[i];
		for (uint32_t i = 0; shard && c->split && i < c->buckets; i++)
			r->times[i] += times[i];
		add_totals(all, (const void *)(into + c->buckets));
	}
	for (uint32_t i = 0; split && i < c->buckets; i++)
		for (uint32_t p = 0; p < c->parts; p++)
			r->sum[i] += led_at(r, i)[p];
	for (uint32_t i = 0; i < c->buckets; i++)
		keep_natural(&r->sum[i]);
	n = plumb_buckets_pack(r->sum, c->buckets, &dist->buckets);
	if (n < 0)
		return n;
	dist->n = n;
	dist->precision = c->precision;
	return 0;
}

/* Called after read_hist(): how the calls of each bucket spent their time. */
static int read_split(const struct reader *r, struct plumb_row *row)
{
	const uint32_t on_cpu = r->config->parts;
	struct plumb_split_buckets *kept;

	kept = row->split = calloc(r->config->buckets, sizeof(*row->split));
	if (!kept)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->config->buckets; i++) {
		*kept = (struct plumb_split_buckets){.bucket = i};
		kept->ns[on_cpu] = r->times[i];
		kept->led[on_cpu] = r->sum[i];
		for (uint32_t p = 0; p < on_cpu; p++) {
			kept->ns[p] = ns_at(r, i)[p];
			kept->led[p] = led_at(r, i)[p];
			kept->led[on_cpu] -= kept->led[p];
		}
		kept += holds_anything(kept);
	}
	row->n_split = kept - row->split;
	return 0;
}

/* Sums the totals of a slot over all CPUs. */
static int read_totals(const struct reader *r, uint32_t slot, struct plumb_totals *all)
{
	struct plumb_totals t;
	uint32_t at;

	for (uint32_t cpu = 0; cpu < r->config->cpus; cpu++) {
		at = cpu * (r->config->slots + r->config->second) + slot;
		if (plumb_map_lookup(r->totals, &at, &t))
			return -errno;
		add_totals(all, &t);
	}
	return 0;
}

/*
 * Reads the buckets before the totals.  A program writes its totals before its bucket, so the
 * maximum is not below any value in a bucket.  While calls go on, the row's count is the sum of its
 * buckets.
 */
static int read_measure(const struct reader *r, uint32_t slot, struct plumb_dist *dist,
			struct plumb_totals *all)
{
	int err = 0;

	*all = (struct plumb_totals){};
	if (r->hists >= 0)
		err = read_hist(r, slot, dist, all);
	if (!err && !(r->hists >= 0 && r->config->exclusive))
		err = read_totals(r, slot, all);
	dist->max = all->max;
	dist->min = ~all->inverted_min;
	/* The shortest call may have been taken back. */
	if (dist->n && dist->min < plumb_bucket_lowest(dist->buckets[0].index, dist->precision))
		dist->min = plumb_bucket_lowest(dist->buckets[0].index, dist->precision);
	return err;
}

static int read_row(const struct reader *r, struct plumb_row *row)
{
	struct plumb_totals all = {};
	int err = 0;

	if (r->config->second) {
		err = read_measure(r, row->slot + r->config->second, &row->second, &all);
		row->second_sum = all.sum;
	}
	if (!err)
		err = read_measure(r, row->slot, &row->dist, &all);
	if (!err && r->off)
		err = read_split(r, row);
	row->count = r->hists >= 0 ? plumb_dist_count(&row->dist) : all.count;
	row->errors = all.errors;
	row->sum = all.sum;
	for (int i = 0; i < PLUMB_COUNTERS; i++)
		row->counters[i] = all.counters[i];
	return err;
}

/* Reads [other], unless it is empty, and the rows of all keys that have a slot. */
static int read_rows(const struct reader *r, struct plumb_snapshot *snap)
{
	struct plumb_elements keys = {};
	const uint32_t *slots;
	int err = plumb_map_read(r->keys, &keys);

	snap->keys = keys.keys;
	snap->rows = plumb_zeroed(keys.n + 1, sizeof(*snap->rows));
	err = err ?: read_row(r, &snap->rows[0]);
	snap->n = is_empty(&snap->rows[0]) ? 0 : 1;
	if (!snap->n)
		free_row(&snap->rows[0]);
	slots = keys.values;
	/* A key is added shortly before its first call is recorded, with a count of 0. */
	for (size_t i = 0; i < keys.n && !err; i++) {
		snap->rows[snap->n] = (struct plumb_row){.key = (char *)keys.keys + i * r->key_size,
							 .slot = slots[i]};
		err = read_row(r, &snap->rows[snap->n++]);
	}
	free(keys.values);
	qsort(snap->rows, snap->n, sizeof(*snap->rows), by_slot);
	return err;
}

static void read_ledger(const struct plumb_ledger *l, struct plumb_ledger *sum)
{
#define ADD(name, ...) sum->name += l->name;
	for (const struct plumb_ledger *end = l + PLUMB_LEDGERS; l < end; l++) {
		PLUMB_LEDGER_COUNTERS(ADD, ADD)
	}
#undef ADD
}

#define LEFT_NS 100000

/*
 * While the rows are read, and of what was counted before, calls are not taken back.  A program
 * that is about to do so needs far less than the time that is left to it.
 */
static void begin_to_read(const struct plumb_maps *maps)
{
	if (!maps->read_until)
		return;
	__atomic_store_n(maps->read_until, UINT64_MAX, __ATOMIC_SEQ_CST);
	/* Not asleep: that would take the CPU from a thread once more. */
	for (uint64_t end = plumb_now() + LEFT_NS; plumb_now() < end;)
		;
}

static void end_reading(const struct plumb_maps *maps)
{
	if (maps->read_until)
		__atomic_store_n(maps->read_until, plumb_now(), __ATOMIC_SEQ_CST);
}

static int read_returns(const struct plumb_maps *maps, struct plumb_returns *sum)
{
	int map = bpf_object__find_map_fd_by_name(maps->object, "plumb_returns");
	struct plumb_returns one;

	for (uint32_t cpu = 0; map >= 0 && cpu < maps->config->cpus; cpu++) {
		if (plumb_map_lookup(map, &cpu, &one))
			return -errno;
		sum->calls += one.calls;
		sum->ns += one.ns;
		sum->late += one.late;
		sum->late_ns += one.late_ns;
		if (one.longest > sum->longest)
			sum->longest = one.longest;
		for (int i = 0; i < PLUMB_RETURN_CAUSES; i++)
			sum->by_cause[i] += one.by_cause[i];
	}
	return 0;
}

static int make_room(struct reader *r)
{
	const size_t buckets = r->config->buckets;
	const size_t totals = sizeof(struct plumb_totals) / sizeof(*r->sum);

	r->sum = calloc(2, (2 * buckets + totals) * sizeof(*r->sum));
	if (!r->sum)
		return -ENOMEM;
	r->times = r->sum + buckets + totals;
	r->shard = r->times + buckets;
	if (r->splits < 0 || !r->config->split)
		return 0;
	r->off = calloc(buckets, 2 * r->config->parts * sizeof(*r->off));
	return r->off ? 0 : -ENOMEM;
}

int plumb_snapshot_take(const struct plumb_maps *maps, struct plumb_snapshot *snap)
{
	struct reader r = {
		.config = maps->config,
		.key_size = maps->key_size,
		.keys = bpf_object__find_map_fd_by_name(maps->object, "plumb_keys"),
		.totals = bpf_object__find_map_fd_by_name(maps->object, "plumb_totals"),
		.hists = bpf_object__find_map_fd_by_name(maps->object, "plumb_hists"),
		.splits = bpf_object__find_map_fd_by_name(maps->object, "plumb_splits"),
	};
	int err;

	*snap = (struct plumb_snapshot){};
	clock_gettime(CLOCK_REALTIME, &snap->taken);
	snap->clock = plumb_now();
	/*
	 * The ledger is read before the rows.  While calls go on, calls that end in between are
	 * subtracted, and calls that begin in between are not added, so that the calls in flight
	 * are a lower bound, and never more than there are threads.
	 */
	read_ledger(maps->ledgers, &snap->ledger);
	err = make_room(&r);
	begin_to_read(maps);
	if (!err)
		err = read_rows(&r, snap);
	end_reading(maps);
	if (!err)
		err = read_returns(maps, &snap->returns);
	free(r.sum);
	free(r.off);
	return err ? plumb_error(err, "cannot read the maps: %s", strerror(-err)) : 0;
}
