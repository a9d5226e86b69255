/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/pictures/history.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/hist/hist.h>

/* Rows of stages are parts of calls that another row has as a whole. */
static bool is_whole(const struct plumb_snapshot *snap, const struct plumb_row *row)
{
	uint32_t stage = 0;

	if (snap->stages > 1 && row->slot)
		memcpy(&stage, (const char *)row->key + snap->stage_at, sizeof(stage));
	return !stage;
}

int plumb_history_sum(struct plumb_dist *sum, const struct plumb_snapshot *snap, uint32_t precision)
{
	const size_t n = plumb_hist_buckets(precision);
	uint64_t *dense = calloc(n, sizeof(*dense));
	long used;

	*sum = (struct plumb_dist){.precision = precision, .min = UINT64_MAX};
	if (!dense)
		return -ENOMEM;
	for (size_t i = 0; i < snap->n; i++) {
		const struct plumb_dist *d = &snap->rows[i].dist;

		if (!d->n || !is_whole(snap, &snap->rows[i]))
			continue;
		for (size_t j = 0; j < d->n; j++)
			dense[d->buckets[j].index] += d->buckets[j].count;
		sum->min = d->min < sum->min ? d->min : sum->min;
		sum->max = d->max > sum->max ? d->max : sum->max;
	}
	used = plumb_buckets_pack(dense, n, &sum->buckets);
	free(dense);
	sum->n = used < 0 ? 0 : used;
	return used < 0 ? used : 0;
}

/* Merges neighbours.  After an error, the columns are unusable, but can be freed. */
static int halve(struct plumb_history *h)
{
	int err;

	for (size_t i = 0; i < h->n / 2; i++) {
		struct history_column *a = &h->columns[2 * i], *b = a + 1;

		err = plumb_dist_add(&a->dist, &b->dist);
		if (err)
			return err;
		free(b->dist.buckets);
		a->to = b->to;
		b->dist.buckets = NULL;
		if (!i)
			continue;
		h->columns[i] = *a;
		a->dist.buckets = NULL;
	}
	h->n /= 2;
	h->each = 2 * (h->each ?: 1);
	return 0;
}

int plumb_history_add(struct plumb_history *h, const struct plumb_snapshot *snap,
		      uint32_t precision, uint64_t ns)
{
	struct plumb_dist dist;
	struct history_column *c;
	int err = plumb_history_sum(&dist, snap, precision);

	_Static_assert(HISTORY_COLUMNS % 2 == 0, "pairs");
	if (!err && h->n && h->last < h->each) {
		c = &h->columns[h->n - 1];
		err = plumb_dist_add(&c->dist, &dist);
		if (!err) {
			free(dist.buckets);
			c->to += ns;
			h->last++;
			return 0;
		}
	}
	if (!err && h->n == HISTORY_COLUMNS)
		err = halve(h);
	if (err) {
		free(dist.buckets);
		return err;
	}
	c = &h->columns[h->n];
	c->from = h->n ? c[-1].to : 0;
	c->to = c->from + ns;
	c->dist = dist;
	h->n++;
	h->last = 1;
	return 0;
}

void plumb_history_free(struct plumb_history *h)
{
	for (size_t i = 0; i < HISTORY_COLUMNS; i++)
		free(h->columns[i].dist.buckets);
	*h = (struct plumb_history){};
}

/* log2 of the buckets in a line. */
static uint32_t step_of(uint32_t precision)
{
	uint32_t lines = 0;

	while (1U << lines < HISTORY_LINES)
		lines++;
	return precision > lines ? precision - lines : 0;
}

uint32_t plumb_lines_per_octave(uint32_t precision)
{
	return 1U << (precision - step_of(precision));
}

uint32_t plumb_line_of(uint32_t bucket, uint32_t precision)
{
	return bucket >> step_of(precision);
}

uint64_t plumb_line_lowest(uint32_t line, uint32_t precision)
{
	return plumb_bucket_lowest(line << step_of(precision), precision);
}

double plumb_line_place(uint64_t value, uint32_t precision)
{
	const uint32_t line = plumb_line_of(plumb_hist_index(value, precision), precision);
	const uint64_t lowest = plumb_line_lowest(line, precision),
		       next = plumb_line_lowest(line + 1, precision);

	/* The line beyond the range has no end. */
	if (value >> PLUMB_HIST_RANGE_BITS)
		return line;
	return line + (double)(value - lowest) / (next - lowest);
}
