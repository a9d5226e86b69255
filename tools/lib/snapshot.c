/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/log.h>
#include <plumb/session.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* What reading one slot takes. */
struct reader {
	const struct plumb_config *config;
	size_t key_size;
	int keys, totals, hists; /* map descriptors; hists is negative where times are not kept */
	uint64_t *shard, *sum;   /* buckets each, and totals behind those of the shard */
};

static void add_totals(struct plumb_totals *sum, const struct plumb_totals *t)
{
	sum->count += t->count;
	sum->errors += t->errors;
	sum->sum += t->sum;
	sum->extra[0] += t->extra[0];
	sum->extra[1] += t->extra[1];
	if (t->max > sum->max)
		sum->max = t->max;
	if (t->inverted_min > sum->inverted_min)
		sum->inverted_min = t->inverted_min;
}

/* Where CPUs have their own histograms the slot's totals are behind the buckets. */
static int read_hist(const struct reader *r, uint32_t slot, struct plumb_dist *dist,
		     struct plumb_totals *all)
{
	const struct plumb_config *c = r->config;
	uint32_t at;
	long n;

	memset(r->sum, 0, c->buckets * sizeof(*r->sum));
	for (uint32_t shard = 0; shard < c->shards; shard++) {
		at = slot * c->shards + shard;
		if (bpf_map_lookup_elem(r->hists, &at, r->shard))
			return -errno;
		for (uint32_t i = 0; i < c->buckets; i++)
			r->sum[i] += r->shard[i];
		add_totals(all, (const void *)(r->shard + c->buckets));
	}
	n = plumb_buckets_pack(r->sum, c->buckets, &dist->buckets);
	if (n < 0)
		return n;
	dist->n = n;
	dist->precision = c->precision;
	return 0;
}

/* What all CPUs have in a slot. */
static int read_totals(const struct reader *r, uint32_t slot, struct plumb_totals *all)
{
	struct plumb_totals t;
	uint32_t at;

	for (uint32_t cpu = 0; cpu < r->config->cpus; cpu++) {
		at = cpu * (r->config->slots + r->config->second) + slot;
		if (bpf_map_lookup_elem(r->totals, &at, &t))
			return -errno;
		add_totals(all, &t);
	}
	return 0;
}

/*
 * The buckets first: a program writes its totals before its bucket, so that the
 * maximum is not below any value that was seen in a bucket.  And while calls go
 * on, the row's count is that of its buckets.
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
	row->count = r->hists >= 0 ? plumb_dist_count(&row->dist) : all.count;
	row->errors = all.errors;
	row->sum = all.sum;
	row->extra[0] = all.extra[0];
	row->extra[1] = all.extra[1];
	return err;
}

static void free_row(struct plumb_row *row)
{
	free(row->dist.buckets);
	free(row->second.buckets);
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
		free_row(&snap->rows[0]);
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

static void read_ledger(const struct plumb_session *s, struct plumb_ledger *sum)
{
	const struct plumb_ledger *l = s->instance.bpf.ledgers;

	for (const struct plumb_ledger *end = l + PLUMB_LEDGERS; l < end; l++) {
		sum->began += l->began;
		sum->overwritten += l->overwritten;
		sum->no_state += l->no_state;
		sum->too_deep += l->too_deep;
		sum->left_out += l->left_out;
		sum->unmatched += l->unmatched;
		sum->overtaken += l->overtaken;
		sum->shut_out += l->shut_out;
		sum->abandoned += l->abandoned;
		sum->untracked += l->untracked;
	}
}

/* Those of kprobe's and tracepoint's kind are counted since 6.7 only. */
static bool misses_are_counted(const struct plumb_session *s, const struct bpf_program *p)
{
	switch (bpf_program__type(p)) {
	case BPF_PROG_TYPE_KPROBE:
	case BPF_PROG_TYPE_TRACEPOINT:
		return s->instance.kprobe_misses;
	default:
		return true;
	}
}

/* Executions that the kernel skipped, of all our programs. */
static void read_missed(const struct plumb_session *s, struct plumb_snapshot *snap)
{
	const struct plumb_aim *aims = s->instance.rung->aims;
	struct bpf_program *p;

	snap->missed_known = true;
	bpf_object__for_each_program(p, s->instance.bpf.object)
	{
		if (!bpf_program__autoload(p))
			continue;
		if (!misses_are_counted(s, p) ||
		    !plumb_program_missed(bpf_program__fd(p), &snap->missed))
			snap->missed_known = false;
	}
	if (!plumb_probe_missed(&s->instance.probes, &snap->missed) ||
	    (aims && !plumb_hook_is_fentry(aims->hook) && !s->instance.kprobe_misses))
		snap->missed_known = false;
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
	r.sum = calloc(1, 2 * bpf->config->buckets * sizeof(*r.sum) + sizeof(struct plumb_totals));
	if (!r.sum)
		return -ENOMEM;
	r.shard = r.sum + bpf->config->buckets;
	err = read_rows(&r, s->options.max_keys, snap);
	free(r.sum);
	if (err)
		return plumb_error(err, "cannot read the maps: %s", strerror(-err));
	read_ledger(s, &snap->ledger);
	read_missed(s, snap);
	snap->missed += snap->ledger.shut_out;
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
		if (copy_dist(&row->dist, &now->rows[i].dist) ||
		    copy_dist(&row->second, &now->rows[i].second))
			return -ENOMEM;
		delta->n++;
		old = older->n ? bsearch(row, older->rows, older->n, sizeof(*row), by_slot) : NULL;
		if (old) {
			row->count -= old->count;
			row->errors -= old->errors;
			row->sum -= old->sum;
			row->extra[0] -= old->extra[0];
			row->extra[1] -= old->extra[1];
			row->second_sum -= old->second_sum;
			plumb_dist_subtract(&row->dist, &old->dist);
			plumb_dist_subtract(&row->second, &old->second);
		}
		if (!row->count && !row->errors) {
			free_row(row);
			delta->n--;
		}
	}
	return 0;
}

void plumb_snapshot_free(struct plumb_snapshot *snap)
{
	for (size_t i = 0; i < snap->n; i++)
		free_row(&snap->rows[i]);
	free(snap->rows);
	free(snap->keys);
	*snap = (struct plumb_snapshot){};
}
