/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/log.h>
#include <plumb/session.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* What reading one slot takes. */
struct reader {
	const struct plumb_config *config;
	size_t key_size;
	int keys, totals, hists; /* map descriptors; hists is negative where times are not kept */
	uint64_t *shard, *sum;   /* buckets each */
};

static int read_hist(const struct reader *r, struct plumb_row *row)
{
	const struct plumb_config *c = r->config;
	uint32_t at;
	long n;

	memset(r->sum, 0, c->buckets * sizeof(*r->sum));
	for (uint32_t shard = 0; shard < c->shards; shard++) {
		at = row->slot * c->shards + shard;
		if (bpf_map_lookup_elem(r->hists, &at, r->shard))
			return -errno;
		for (uint32_t i = 0; i < c->buckets; i++)
			r->sum[i] += r->shard[i];
	}
	n = plumb_buckets_pack(r->sum, c->buckets, &row->dist.buckets);
	if (n < 0)
		return n;
	row->dist.n = n;
	row->dist.precision = c->precision;
	return 0;
}

/*
 * The buckets first: a program writes its totals before its bucket, so that the
 * maximum is not below any value that was seen in a bucket.  And while calls go
 * on, the row's count is that of its buckets.
 */
static int read_row(const struct reader *r, struct plumb_row *row)
{
	uint64_t inverted_min = 0;
	struct plumb_totals t;
	uint32_t at;
	int err = r->hists >= 0 ? read_hist(r, row) : 0;

	for (uint32_t cpu = 0; !err && cpu < r->config->cpus; cpu++) {
		at = cpu * r->config->slots + row->slot;
		if (bpf_map_lookup_elem(r->totals, &at, &t))
			return -errno;
		row->count += t.count;
		row->errors += t.errors;
		row->sum += t.sum;
		if (t.max > row->dist.max)
			row->dist.max = t.max;
		if (t.inverted_min > inverted_min)
			inverted_min = t.inverted_min;
	}
	row->dist.min = ~inverted_min;
	if (r->hists >= 0)
		row->count = plumb_dist_count(&row->dist);
	return err;
}

/* Slots are never given back, so a slot is a row's name. */
static int by_slot(const void *a, const void *b)
{
	const struct plumb_row *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}

/* All keys that have a slot, and [other]; a row that holds nothing is passed over. */
static int read_rows(const struct reader *r, uint32_t max_keys, struct plumb_snapshot *snap)
{
	char *keys = snap->keys = calloc(max_keys + 1, r->key_size), *key = keys, *previous = NULL;
	struct plumb_row *row;
	int err;

	snap->rows = calloc(max_keys + 1, sizeof(*snap->rows));
	if (!keys || !snap->rows)
		return -ENOMEM;
	err = read_row(r, &snap->rows[0]);
	if (err)
		return err;
	snap->n = snap->rows[0].count ? 1 : 0;
	if (!snap->n)
		free(snap->rows[0].dist.buckets);
	while (snap->n <= max_keys && !bpf_map_get_next_key(r->keys, previous, key)) {
		row = &snap->rows[snap->n];
		*row = (struct plumb_row){.key = key};
		/* The key is there a moment before its thread records: then count is still 0. */
		if (bpf_map_lookup_elem(r->keys, key, &row->slot))
			return -errno;
		err = read_row(r, row);
		if (err)
			return err;
		snap->n++;
		previous = key;
		key += r->key_size;
	}
	qsort(snap->rows, snap->n, sizeof(*snap->rows), by_slot);
	return 0;
}

static int read_ledger(const struct plumb_session *s, struct plumb_ledger *sum)
{
	int fd = bpf_object__find_map_fd_by_name(s->instance.bpf.object, "plumb_ledger");
	struct plumb_ledger l;

	for (uint32_t cpu = 0; cpu < s->instance.bpf.config->cpus; cpu++) {
		if (bpf_map_lookup_elem(fd, &cpu, &l))
			return -errno;
		sum->began += l.began;
		sum->overwritten += l.overwritten;
		sum->no_state += l.no_state;
		sum->left_out += l.left_out;
		sum->unmatched += l.unmatched;
		sum->pooled += l.pooled;
		sum->abandoned += l.abandoned;
		sum->untracked += l.untracked;
	}
	return 0;
}

/* Executions that the kernel skipped, of all our programs. */
static void read_missed(const struct plumb_session *s, struct plumb_snapshot *snap)
{
	const size_t needed = offsetof(struct bpf_prog_info, recursion_misses) + sizeof(__u64);
	struct bpf_program *p;

	snap->missed_known = true;
	bpf_object__for_each_program(p, s->instance.bpf.object)
	{
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);

		if (!bpf_program__autoload(p))
			continue;
		/* An older kernel fills in less (5.12 is the first to tell). */
		if (bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size) || size < needed)
			snap->missed_known = false;
		else
			snap->missed += info.recursion_misses;
	}
}

static uint64_t monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

int plumb_snapshot_take(const struct plumb_session *s, struct plumb_snapshot *snap)
{
	const struct plumb_bpf *bpf = &s->instance.bpf;
	struct reader r = {
		.config = bpf->config,
		.key_size = s->tool->key_size,
		.keys = bpf_object__find_map_fd_by_name(bpf->object, "plumb_keys"),
		.totals = bpf_object__find_map_fd_by_name(bpf->object, "plumb_totals"),
		.hists = bpf_object__find_map_fd_by_name(bpf->object, "plumb_hists"),
	};
	int err;

	*snap = (struct plumb_snapshot){};
	clock_gettime(CLOCK_REALTIME, &snap->taken);
	snap->clock = monotonic();
	r.shard = calloc(2 * bpf->config->buckets + 1, sizeof(*r.shard));
	if (!r.shard)
		return -ENOMEM;
	r.sum = r.shard + bpf->config->buckets;
	err = read_rows(&r, s->options.max_keys, snap);
	free(r.shard);
	if (!err)
		err = read_ledger(s, &snap->ledger);
	if (err)
		return plumb_error(err, "cannot read the maps: %s", strerror(-err));
	read_missed(s, snap);
	return 0;
}

static int copy_dist(struct plumb_dist *to, const struct plumb_dist *from)
{
	*to = *from;
	to->buckets = malloc((from->n ?: 1) * sizeof(*from->buckets));
	if (!to->buckets)
		return -ENOMEM;
	if (from->n)
		memcpy(to->buckets, from->buckets, from->n * sizeof(*from->buckets));
	return 0;
}

int plumb_snapshot_since(struct plumb_snapshot *delta, const struct plumb_snapshot *now,
			 const struct plumb_snapshot *older)
{
	const struct plumb_row *old;
	struct plumb_row *row;

	*delta = (struct plumb_snapshot){.taken = now->taken, .clock = now->clock};
	delta->rows = calloc(now->n ?: 1, sizeof(*delta->rows));
	if (!delta->rows)
		return -ENOMEM;
	for (size_t i = 0; i < now->n; i++) {
		row = &delta->rows[delta->n];
		*row = now->rows[i];
		if (copy_dist(&row->dist, &now->rows[i].dist))
			return -ENOMEM;
		delta->n++;
		old = older->n ? bsearch(row, older->rows, older->n, sizeof(*row), by_slot) : NULL;
		if (old) {
			row->count -= old->count;
			row->errors -= old->errors;
			row->sum -= old->sum;
			plumb_dist_subtract(&row->dist, &old->dist);
		}
		if (!row->count && !row->errors) {
			free(row->dist.buckets);
			delta->n--;
		}
	}
	return 0;
}

void plumb_snapshot_free(struct plumb_snapshot *snap)
{
	for (size_t i = 0; i < snap->n; i++)
		free(snap->rows[i].dist.buckets);
	free(snap->rows);
	free(snap->keys);
	*snap = (struct plumb_snapshot){};
}
