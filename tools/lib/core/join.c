/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/snapshot.h>

static int add_split(struct plumb_row *row, const struct plumb_row *from)
{
	struct plumb_split_buckets *all = calloc(row->n_split + from->n_split + 1, sizeof(*all)),
				   *at = all;
	size_t i = 0, j = 0;

	if (!all)
		return -ENOMEM;
	while (i < row->n_split || j < from->n_split) {
		const bool both = i < row->n_split && j < from->n_split &&
				  row->split[i].bucket == from->split[j].bucket;

		if (both || j == from->n_split ||
		    (i < row->n_split && row->split[i].bucket < from->split[j].bucket))
			*at = row->split[i++];
		else
			*at = from->split[j++];
		for (int p = 0; both && p < PLUMB_MAX_PARTS; p++) {
			at->ns[p] += from->split[j].ns[p];
			at->led[p] += from->split[j].led[p];
		}
		j += both;
		at++;
	}
	free(row->split);
	row->split = all;
	row->n_split = at - all;
	return 0;
}

/* Adds FROM, which is emptied, to ROW. */
static int add_row(struct plumb_row *row, struct plumb_row *from)
{
	int err = plumb_dist_add(&row->dist, &from->dist) ?:
		  plumb_dist_add(&row->second, &from->second) ?:
		  (from->split ? add_split(row, from) : 0);

	row->count += from->count;
	row->errors += from->errors;
	row->sum += from->sum;
	for (int i = 0; i < PLUMB_COUNTERS; i++)
		row->counters[i] += from->counters[i];
	row->second_sum += from->second_sum;
	free(from->dist.buckets);
	free(from->second.buckets);
	free(from->split);
	*from = (struct plumb_row){};
	return err;
}

/* For qsort_r(): by key, then by slot; rows without a key first. */
static int by_key(const void *a, const void *b, void *size)
{
	const struct plumb_row *x = *(struct plumb_row *const *)a,
			       *y = *(struct plumb_row *const *)b;
	int order =
		x->key && y->key ? memcmp(x->key, y->key, *(size_t *)size) : !!x->key - !!y->key;

	return order ?: (x->slot > y->slot) - (x->slot < y->slot);
}

int plumb_snapshot_join(struct plumb_snapshot *snap, size_t key_size)
{
	struct plumb_row **sorted = calloc(snap->n ?: 1, sizeof(struct plumb_row *)), *first;
	uint32_t last = 0; /* slot of those that are added to FIRST */
	size_t n = 0;
	int err = 0;

	/* They are in the order of their slots. */
	snap->n_joined = snap->n ? snap->rows[snap->n - 1].slot + 1 : 0;
	snap->joined = calloc(snap->n_joined ?: 1, sizeof(*snap->joined));
	if (!sorted || !snap->joined) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < snap->n; i++)
		sorted[i] = &snap->rows[i];
	qsort_r(sorted, snap->n, sizeof(*sorted), by_key, &key_size);
	first = snap->n ? sorted[0] : NULL;
	for (size_t i = 1; i < snap->n && !err; i++) {
		const uint32_t slot = sorted[i]->slot;

		if (first->key && sorted[i]->key && !memcmp(first->key, sorted[i]->key, key_size)) {
			snap->joined[last ?: first->slot] = slot;
			last = slot;
			err = add_row(first, sorted[i]);
		} else {
			first = sorted[i];
			last = 0;
		}
	}
	free(sorted);
	/* Rows that were added have no key and, unlike [other], are not the first. */
	for (size_t i = 0; i < snap->n; i++)
		if (!i || snap->rows[i].key)
			snap->rows[n++] = snap->rows[i];
	snap->n = n;
	return err;
}
