/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* snapshot: the rows of an interval. */
#include "rows.h"

#include <errno.h>
#include <string.h>
#include <plumb/core/snapshot.h>

static int copy_dist(struct plumb_dist *to, const struct plumb_dist *from)
{
	*to = *from;
	to->buckets = NULL;
	if (!from->n)
		return 0;
	to->buckets = malloc(from->n * sizeof(*from->buckets));
	if (!to->buckets)
		return -ENOMEM;
	memcpy(to->buckets, from->buckets, from->n * sizeof(*from->buckets));
	return 0;
}

/* Sets ROW's split to that of NOW minus that of OLDER; OLDER is NULL if the row is new. */
static int subtract_split(struct plumb_row *row, const struct plumb_row *now,
			  const struct plumb_row *older)
{
	struct plumb_split_buckets *kept;
	size_t j = 0;

	if (!now->split)
		return 0;
	kept = row->split = calloc(now->n_split + 1, sizeof(*row->split));
	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < now->n_split; i++) {
		*kept = now->split[i];
		while (older && j < older->n_split && older->split[j].bucket < kept->bucket)
			j++;
		if (older && j < older->n_split && older->split[j].bucket == kept->bucket) {
			for (int p = 0; p < PLUMB_MAX_PARTS; p++) {
				kept->ns[p] -= older->split[j].ns[p];
				kept->led[p] -= older->split[j].led[p];
				keep_natural(&kept->ns[p]);
				keep_natural(&kept->led[p]);
			}
		}
		kept += holds_anything(kept);
	}
	row->n_split = kept - row->split;
	return 0;
}

void plumb_snapshot_prune(struct plumb_snapshot *snap)
{
	size_t n = 0;

	for (size_t i = 0; i < snap->n; i++) {
		if (is_empty(&snap->rows[i]) && !snap->rows[i].n_split)
			free_row(&snap->rows[i]);
		else
			snap->rows[n++] = snap->rows[i];
	}
	snap->n = n;
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
		if (subtract_split(row, &now->rows[i], old))
			return -ENOMEM;
		if (old) {
			row->count -= old->count;
			row->errors -= old->errors;
			row->sum -= old->sum;
			keep_natural(&row->errors);
			keep_natural(&row->sum);
			for (int c = 0; c < PLUMB_COUNTERS; c++)
				row->counters[c] -= old->counters[c];
			row->second_sum -= old->second_sum;
			plumb_dist_subtract(&row->dist, &old->dist);
			if (row->dist.n || (int64_t)row->count < 0)
				row->count = plumb_dist_count(&row->dist);
			plumb_dist_subtract(&row->second, &old->second);
		}
		if (is_empty(row) && !row->n_split) {
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
	free(snap->joined);
	*snap = (struct plumb_snapshot){};
}
