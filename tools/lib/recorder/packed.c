/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <plumb/recorder/packed.h>

/* What a row has besides its slot and count; most rows lack most of it. */
enum { ERRORS = 1, SUM = 2, DIST = 4, SECOND = 8, SPLIT = 16, COUNTER = 32 /* << its number */ };

#define LONGEST 10 /* bytes of a number */

/* Writes rows or reads them.  What follows does both, so that the two cannot differ. */
struct coder {
	bool writes;
	uint8_t *bytes; /* N of ROOM are written */
	size_t n, room;
	const uint8_t *at, *end; /* that are still to be read */
	int err;                 /* -ENOMEM; -EBADMSG: what is read is damaged */
};

static void put(struct coder *c, uint64_t value)
{
	uint8_t *more;

	if (c->n + LONGEST > c->room) {
		more = realloc(c->bytes, c->room * 2 ?: 1024);
		if (!more) {
			c->err = -ENOMEM;
			return;
		}
		c->bytes = more;
		c->room = c->room * 2 ?: 1024;
	}
	for (; value >= 128; value >>= 7)
		c->bytes[c->n++] = value | 128;
	c->bytes[c->n++] = value;
}

static uint64_t take(struct coder *c)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		if (c->at == c->end)
			break;
		value |= (uint64_t)(*c->at & 127) << shift;
		if (!(*c->at++ & 128))
			return value;
	}
	c->err = -EBADMSG;
	return 0;
}

/* Writes VALUE, and returns it; or returns what is read. */
static uint64_t code(struct coder *c, uint64_t value)
{
	if (!c->writes)
		return c->err ? 0 : take(c);
	if (!c->err)
		put(c, value);
	return value;
}

/*
 * Codes the number N of ITEMS, which have SIZE bytes, and at least LEAST when they are packed.
 * Returns the items; new ones, all zero, if it reads.
 */
static void *code_items(struct coder *c, void *items, size_t *n, size_t size, size_t least)
{
	*n = code(c, *n);
	if (c->writes)
		return items;
	if (*n > (size_t)(c->end - c->at) / least) {
		c->err = -EBADMSG;
		*n = 0;
	}
	items = calloc(*n ?: 1, size);
	if (!items) {
		c->err = -ENOMEM;
		*n = 0;
	}
	return items;
}

static void code_dist(struct coder *c, struct plumb_dist *d)
{
	uint32_t last = 0;

	d->buckets = code_items(c, d->buckets, &d->n, sizeof(*d->buckets), 2);
	d->precision = code(c, d->precision);
	d->min = code(c, d->min);
	d->max = d->min + code(c, d->max - d->min);
	for (size_t i = 0; i < d->n; i++) {
		last += code(c, d->buckets[i].index - last);
		d->buckets[i].index = last;
		d->buckets[i].count = code(c, d->buckets[i].count);
	}
}

static void code_split(struct coder *c, struct plumb_row *row)
{
	uint32_t last = 0;

	row->split = code_items(c, row->split, &row->n_split, sizeof(*row->split),
				1 + 2 * PLUMB_MAX_PARTS);
	for (size_t i = 0; i < row->n_split; i++) {
		last += code(c, row->split[i].bucket - last);
		row->split[i].bucket = last;
		for (int p = 0; p < PLUMB_MAX_PARTS; p++) {
			row->split[i].ns[p] = code(c, row->split[i].ns[p]);
			row->split[i].led[p] = code(c, row->split[i].led[p]);
		}
	}
}

static unsigned int what_has(const struct plumb_row *row)
{
	unsigned int has =
		(row->errors ? ERRORS : 0) | (row->sum ? SUM : 0) | (row->dist.n ? DIST : 0) |
		(row->second.n || row->second_sum ? SECOND : 0) | (row->split ? SPLIT : 0);

	for (int i = 0; i < PLUMB_COUNTERS; i++)
		has |= row->counters[i] ? COUNTER << i : 0;
	return has;
}

/* A row that is read is all zero before. */
static void code_row(struct coder *c, struct plumb_row *row)
{
	unsigned int has;

	row->slot = code(c, row->slot);
	has = code(c, what_has(row));
	row->count = code(c, row->count);
	if (has & ERRORS)
		row->errors = code(c, row->errors);
	if (has & SUM)
		row->sum = code(c, row->sum);
	for (int i = 0; i < PLUMB_COUNTERS; i++)
		if (has & COUNTER << i)
			row->counters[i] = code(c, row->counters[i]);
	if (has & DIST)
		code_dist(c, &row->dist);
	if (has & SECOND) {
		row->second_sum = code(c, row->second_sum);
		code_dist(c, &row->second);
	}
	if (has & SPLIT)
		code_split(c, row);
}

int plumb_pack_rows(const struct plumb_snapshot *snap, struct plumb_packed *packed)
{
	struct coder c = {.writes = true};
	uint8_t *fitting;

	code(&c, snap->n);
	for (size_t i = 0; i < snap->n && !c.err; i++)
		code_row(&c, &snap->rows[i]);
	if (c.err) {
		free(c.bytes);
		return c.err;
	}
	fitting = realloc(c.bytes, c.n);
	*packed = (struct plumb_packed){fitting ?: c.bytes, c.n};
	return 0;
}

int plumb_unpack_rows(const struct plumb_packed *packed, const void *keys, size_t key_size,
		      size_t slots, struct plumb_snapshot *snap)
{
	struct coder c = {.at = packed->bytes, .end = packed->bytes + packed->size};
	struct plumb_row *row;
	size_t n = 0;

	*snap = (struct plumb_snapshot){};
	snap->rows = code_items(&c, NULL, &n, sizeof(*snap->rows), 3);
	while (snap->n < n && !c.err) {
		row = &snap->rows[snap->n++];
		code_row(&c, row);
		if (row->slot >= slots)
			c.err = c.err ?: -EBADMSG;
		else if (row->slot)
			row->key = (const char *)keys + row->slot * key_size;
	}
	if (!c.err && c.at != c.end)
		c.err = -EBADMSG;
	if (c.err)
		plumb_snapshot_free(snap);
	return c.err;
}
