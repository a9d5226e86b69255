/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <plumb/recorder/packed.h>

/* What a row has besides its slot and count; most rows lack most of it. */
enum { ERRORS = 1, SUM = 2, DIST = 4, SECOND = 8, SPLIT = 16, COUNTER = 32 /* << its number */ };

#define LONGEST 10 /* bytes of a number */

/* --- writing --- */

struct writer {
	uint8_t *bytes;
	size_t n, room;
	int err;
};

static void put(struct writer *w, uint64_t value)
{
	uint8_t *more;

	if (w->err)
		return;
	if (w->n + LONGEST > w->room) {
		more = realloc(w->bytes, w->room * 2 ?: 1024);
		if (!more) {
			w->err = -ENOMEM;
			return;
		}
		w->bytes = more;
		w->room = w->room * 2 ?: 1024;
	}
	for (; value >= 128; value >>= 7)
		w->bytes[w->n++] = value | 128;
	w->bytes[w->n++] = value;
}

static void put_if(struct writer *w, bool there_is, uint64_t value)
{
	if (there_is)
		put(w, value);
}

static void put_dist(struct writer *w, const struct plumb_dist *d)
{
	uint32_t last = 0;

	put(w, d->n);
	put(w, d->precision);
	put(w, d->min);
	put(w, d->max - d->min);
	for (size_t i = 0; i < d->n; i++) {
		put(w, d->buckets[i].index - last);
		put(w, d->buckets[i].count);
		last = d->buckets[i].index;
	}
}

static void put_split(struct writer *w, const struct plumb_row *row)
{
	uint32_t last = 0;

	put(w, row->n_split);
	for (size_t i = 0; i < row->n_split; i++) {
		put(w, row->split[i].bucket - last);
		last = row->split[i].bucket;
		for (int p = 0; p < PLUMB_MAX_PARTS; p++) {
			put(w, row->split[i].ns[p]);
			put(w, row->split[i].led[p]);
		}
	}
}

static void put_row(struct writer *w, const struct plumb_row *row)
{
	unsigned int has =
		(row->errors ? ERRORS : 0) | (row->sum ? SUM : 0) | (row->dist.n ? DIST : 0) |
		(row->second.n || row->second_sum ? SECOND : 0) | (row->split ? SPLIT : 0);

	for (int i = 0; i < PLUMB_COUNTERS; i++)
		has |= row->counters[i] ? COUNTER << i : 0;
	put(w, row->slot);
	put(w, has);
	put(w, row->count);
	put_if(w, has & ERRORS, row->errors);
	put_if(w, has & SUM, row->sum);
	for (int i = 0; i < PLUMB_COUNTERS; i++)
		put_if(w, has & COUNTER << i, row->counters[i]);
	if (has & DIST)
		put_dist(w, &row->dist);
	if (has & SECOND) {
		put(w, row->second_sum);
		put_dist(w, &row->second);
	}
	if (has & SPLIT)
		put_split(w, row);
}

int plumb_pack_rows(const struct plumb_snapshot *snap, struct plumb_packed *packed)
{
	struct writer w = {};
	uint8_t *fitting;

	put(&w, snap->n);
	for (size_t i = 0; i < snap->n && !w.err; i++)
		put_row(&w, &snap->rows[i]);
	if (w.err) {
		free(w.bytes);
		return w.err;
	}
	fitting = realloc(w.bytes, w.n);
	*packed = (struct plumb_packed){fitting ?: w.bytes, w.n};
	return 0;
}

/* --- reading --- */

struct reader {
	const uint8_t *at, *end;
	bool damaged;
};

static uint64_t take(struct reader *r)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		if (r->at == r->end)
			break;
		value |= (uint64_t)(*r->at & 127) << shift;
		if (!(*r->at++ & 128))
			return value;
	}
	r->damaged = true;
	return 0;
}

/* A number of items of at least LEAST bytes each; 0 if there cannot be as many. */
static size_t take_number(struct reader *r, size_t least)
{
	const uint64_t n = take(r);

	if (n <= (uint64_t)(r->end - r->at) / least)
		return n;
	r->damaged = true;
	return 0;
}

static int take_dist(struct reader *r, struct plumb_dist *d)
{
	uint32_t last = 0;

	*d = (struct plumb_dist){.n = take_number(r, 2)};
	d->precision = take(r);
	d->min = take(r);
	d->max = d->min + take(r);
	d->buckets = calloc(d->n ?: 1, sizeof(*d->buckets));
	if (!d->buckets)
		return -ENOMEM;
	for (size_t i = 0; i < d->n; i++) {
		last += take(r);
		d->buckets[i] = (struct plumb_bucket){.index = last};
		d->buckets[i].count = take(r);
	}
	return 0;
}

static int take_split(struct reader *r, struct plumb_row *row)
{
	uint32_t last = 0;

	row->n_split = take_number(r, 1 + 2 * PLUMB_MAX_PARTS);
	row->split = calloc(row->n_split ?: 1, sizeof(*row->split));
	if (!row->split)
		return -ENOMEM;
	for (size_t i = 0; i < row->n_split; i++) {
		last += take(r);
		row->split[i].bucket = last;
		for (int p = 0; p < PLUMB_MAX_PARTS; p++) {
			row->split[i].ns[p] = take(r);
			row->split[i].led[p] = take(r);
		}
	}
	return 0;
}

static int take_row(struct reader *r, struct plumb_row *row)
{
	unsigned int has;
	int err = 0;

	row->slot = take(r);
	has = take(r);
	row->count = take(r);
	row->errors = has & ERRORS ? take(r) : 0;
	row->sum = has & SUM ? take(r) : 0;
	for (int i = 0; i < PLUMB_COUNTERS; i++)
		row->counters[i] = has & COUNTER << i ? take(r) : 0;
	if (has & DIST)
		err = take_dist(r, &row->dist);
	if (!err && has & SECOND) {
		row->second_sum = take(r);
		err = take_dist(r, &row->second);
	}
	if (!err && has & SPLIT)
		err = take_split(r, row);
	return err;
}

int plumb_unpack_rows(const struct plumb_packed *packed, const void *keys, size_t key_size,
		      size_t slots, struct plumb_snapshot *snap)
{
	struct reader r = {packed->bytes, packed->bytes + packed->size, false};
	const size_t n = take_number(&r, 3);
	struct plumb_row *row;
	int err = 0;

	*snap = (struct plumb_snapshot){.rows = calloc(n ?: 1, sizeof(*snap->rows))};
	if (!snap->rows)
		return -ENOMEM;
	while (snap->n < n && !err && !r.damaged) {
		row = &snap->rows[snap->n++];
		err = take_row(&r, row);
		if (row->slot >= slots)
			r.damaged = true;
		else if (row->slot)
			row->key = (const char *)keys + row->slot * key_size;
	}
	if (!err && (r.damaged || r.at != r.end))
		err = -EBADMSG;
	if (err)
		plumb_snapshot_free(snap);
	return err;
}
