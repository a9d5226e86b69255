/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/inflight.h>
#include <plumb/recorder/kept.h>

/*
 * Bytes of a row, in the memory that is planned: a hundred buckets of 3 bytes are many for an
 * interval, and the parts of each bucket's time are up to 24 numbers.
 */
#define ROW_BYTES   48
#define HIST_BYTES  464
#define SPLIT_BYTES 4096

uint64_t plumb_kept_most(const struct plumb_options *o)
{
	return (o->keep.time + o->keep.interval - 1) / o->keep.interval;
}

uint64_t plumb_kept_plan(struct plumb_kept *k, const struct plumb_tool *tool,
			 const struct plumb_options *o)
{
	uint64_t row = ROW_BYTES;

	if (plumb_has_histogram(tool->measure.kind))
		row += HIST_BYTES * (tool->measure.second ? 2 : 1) + (o->split ? SPLIT_BYTES : 0);
	*k = (struct plumb_kept){
		.most = plumb_kept_most(o),
		.key_size = tool->keys.size,
		.slots = o->max_keys + 1,
	};
	k->budget = k->most * k->slots * row;
	return k->budget + k->most * sizeof(*k->all) + k->slots * k->key_size;
}

int plumb_kept_open(struct plumb_kept *k)
{
	k->all = calloc(k->most, sizeof(*k->all));
	k->keys = calloc(k->slots, k->key_size ?: 1);
	return k->all && k->keys ? 0 : -ENOMEM;
}

static size_t bytes_of(const struct plumb_kept_interval *i)
{
	return i->rows.size + (i->own ? strlen(i->own) + 1 : 0);
}

static void drop_oldest(struct plumb_kept *k)
{
	struct plumb_kept_interval *oldest = &k->all[k->first];

	k->bytes -= bytes_of(oldest);
	free(oldest->rows.bytes);
	free(oldest->own);
	*oldest = (struct plumb_kept_interval){};
	k->first = (k->first + 1) % k->most;
	k->n--;
}

void plumb_kept_free(struct plumb_kept *k)
{
	while (k->n)
		drop_oldest(k);
	free(k->all);
	free(k->keys);
	*k = (struct plumb_kept){};
}

/* What the tool counts besides its rows is as of now, so it is kept as text. */
static int own_members(const struct plumb_report *r, char **own)
{
	const struct plumb_view *view = &r->run->tool->view;
	json_t *json;

	*own = NULL;
	if (!r->run->tool->files && !r->run->tool->meanwhile &&
	    (!view->report_json || view->json_of_rows))
		return 0;
	json = json_object();
	plumb_report_add_own(json, r);
	*own = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return *own ? 0 : -ENOMEM;
}

/* A slot belongs to the same key until the end of the run. */
static void learn_keys(struct plumb_kept *k, const struct plumb_snapshot *snap)
{
	for (size_t i = 0; i < snap->n; i++)
		if (snap->rows[i].slot && snap->rows[i].slot < k->slots)
			memcpy(k->keys + snap->rows[i].slot * k->key_size, snap->rows[i].key,
			       k->key_size);
}

int plumb_kept_add(struct plumb_kept *k, const struct plumb_report *r)
{
	struct plumb_kept_interval new = {
		.start = r->start,
		.end = r->snap->taken,
		.clock = r->snap->clock,
		.elapsed = r->elapsed,
		.seq = r->seq,
		.ledger = r->total->ledger,
		.verdict = plumb_ledger_judge(r->total),
		.missed = r->total->missed,
		.missed_known = r->total->missed_known,
		.cpus_watched = r->total->cpus_watched,
		.cpus_changed = r->total->cpus_changed,
	};
	int err = plumb_pack_rows(r->snap, &new.rows) ?: own_members(r, &new.own);

	if (err) {
		free(new.rows.bytes);
		return err;
	}
	learn_keys(k, r->snap);
	if (k->n == k->most)
		drop_oldest(k);
	/* The newest one is kept, however large. */
	for (; k->n && k->bytes + bytes_of(&new) > k->budget; k->forgotten++)
		drop_oldest(k);
	k->all[(k->first + k->n++) % k->most] = new;
	k->bytes += bytes_of(&new);
	return 0;
}

static int print_one(const struct plumb_kept *k, const struct plumb_kept_interval *i,
		     const struct plumb_report *like, FILE *out)
{
	/* Which calls were in flight was not looked up. */
	const struct plumb_flights flights = {.cut = true, .unlisted = i->verdict.in_flight};
	const struct plumb_snapshot total = {
		.ledger = i->ledger,
		.missed = i->missed,
		.missed_known = i->missed_known,
		.cpus_watched = i->cpus_watched,
		.cpus_changed = i->cpus_changed,
	};
	struct plumb_snapshot rows;
	struct plumb_report r = {
		.run = like->run,
		.snap = &rows,
		.start = i->start,
		.elapsed = i->elapsed,
		.seq = i->seq,
		.total = &total,
		.flights = &flights,
		.verdict = &i->verdict,
		.own = i->own ? json_loads(i->own, 0, NULL) : NULL,
	};
	int err = plumb_unpack_rows(&i->rows, k->keys, k->key_size, k->slots, &rows);

	if (!err) {
		rows.taken = i->end;
		rows.clock = i->clock;
		plumb_report_sort(&r);
		err = plumb_report_json(&r, out);
		plumb_snapshot_free(&rows);
	}
	json_decref(r.own);
	return err;
}

int plumb_kept_print(const struct plumb_kept *k, const struct plumb_report *like, FILE *out)
{
	int err = 0;

	for (size_t i = 0; i < k->n && !err; i++)
		err = print_one(k, &k->all[(k->first + i) % k->most], like, out);
	return err;
}
