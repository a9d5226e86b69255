/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* configure: the maps of histograms, parts of times, and totals. */
#include "configure.h"

#include <errno.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/bpf/sched/split.h>
#include <plumb/core/instance.h>
#include <plumb/core/log.h>

#include <bpf/libbpf.h>

/*
 * Maximum size of all histograms.  To stay below it, the number of shards is reduced; if one shard
 * is too large, the tool exits.
 */
#define MAX_HIST_BYTES (256ULL << 20)

static struct bpf_map *map(const struct plumb_bpf *bpf, const char *name)
{
	return bpf_object__find_map_by_name(bpf->object, name);
}

static uint32_t power_of_two_below(uint64_t n)
{
	uint32_t p = 1;

	while (2ULL * p <= n && p < 1U << 31)
		p *= 2;
	return p;
}

/* Bytes of a bucket in each shard, and (split_bytes) in the map of splits. */
static uint64_t bucket_bytes(const struct plumb_options *o)
{
	return (o->split ? 2 : 1) * sizeof(uint64_t);
}

static uint32_t off_cpu_parts(const struct plumb_tool *tool)
{
	return tool->measure.n_parts ? tool->measure.n_parts - 1 : PLUMB_PARTS;
}

static uint64_t split_bytes(const struct plumb_run *run)
{
	return run->options.split ? 2 * off_cpu_parts(run->tool) * sizeof(uint64_t) : 0;
}

/* One shard per CPU if memory allows; CPUs that share a shard need atomic increments. */
static void size_hist(const struct plumb_run *run, struct plumb_config *c)
{
	const struct plumb_options *o = &run->options;
	uint64_t slots = c->slots + c->second;
	uint64_t bytes, room;

	c->precision = o->precision;
	c->buckets = plumb_hist_buckets(c->precision);
	bytes = slots * c->buckets * bucket_bytes(o);
	room = MAX_HIST_BYTES - slots * c->buckets * split_bytes(run);
	c->exclusive = bytes * c->cpus <= room;
	c->shards = c->exclusive ? c->cpus : power_of_two_below(room / bytes);
	plumb_info("histograms: %llu slots, %u shards, %u buckets: %llu kB",
		   (unsigned long long)slots, c->shards, c->buckets,
		   (unsigned long long)((bytes * c->shards + MAX_HIST_BYTES - room) >> 10));
}

void plumb_configure_hist(const struct plumb_run *run, struct plumb_config *c,
			  const struct plumb_bpf *bpf)
{
	const struct plumb_options *o = &run->options;
	struct bpf_map *hists = map(bpf, "plumb_hists"), *splits = map(bpf, "plumb_splits");

	c->parts = off_cpu_parts(run->tool);
	if (hists) {
		size_hist(run, c);
		bpf_map__set_value_size(hists,
					c->buckets * bucket_bytes(o) + sizeof(struct plumb_totals));
		bpf_map__set_max_entries(hists, (c->slots + c->second) * c->shards);
	}
	if (splits && o->split) {
		bpf_map__set_value_size(splits, c->buckets * split_bytes(run));
		bpf_map__set_max_entries(splits, c->slots);
	}
	if (!hists || !c->exclusive)
		bpf_map__set_max_entries(map(bpf, "plumb_totals"),
					 (c->slots + c->second) * c->cpus);
}

int plumb_configure_check_memory(const struct plumb_run *run)
{
	uint64_t slots = (run->options.max_keys + 1) * (run->tool->measure.second ? 2 : 1);
	uint64_t bytes = slots * plumb_hist_buckets(run->options.precision) *
			 (bucket_bytes(&run->options) + split_bytes(run));
	uint64_t totals = slots * libbpf_num_possible_cpus() * sizeof(struct plumb_totals);
	const char *fewer = run->tool->keys.fewer ?: "lower --max-keys";

	if (totals > MAX_HIST_BYTES)
		return plumb_error(E2BIG, "counters of %llu MB, at most %llu: %s",
				   (unsigned long long)(totals >> 20), MAX_HIST_BYTES >> 20, fewer);
	if (!plumb_has_histogram(run->tool->measure.kind) || bytes <= MAX_HIST_BYTES)
		return 0;
	return plumb_error(E2BIG, "histograms of %llu MB, at most %llu: %s or lower --precision",
			   (unsigned long long)(bytes >> 20), MAX_HIST_BYTES >> 20, fewer);
}
