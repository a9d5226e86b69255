/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merging/merge.h"
#include "merging/keys.h"
#include "reading/memory.h"
#include <search.h>
#include <plumb/bpf/hist/hist.h>

/* Tools print a key the same way each time: its text finds the row again without being parsed. */
struct alias {
	uint64_t window;
	struct span host, key; /* as they are written */
	struct merged_row *row;
	bool pooled;    /* the row is [other], for lack of rows */
	uint64_t names; /* what tells the names of the key from others; 0: of [other] */
	uint64_t line;  /* the last one that has it */
	char text[];
};

/* When they take more memory, they are forgotten. */
#define MOST_ALIASES (8u << 20)

static int alias_order(const void *a, const void *b)
{
	const struct alias *x = a, *y = b;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	return spans_in_order(x->key, y->key) ?: spans_in_order(x->host, y->host);
}

void merge_forget(struct merge *m)
{
	tdestroy(m->aliases, free);
	m->aliases = NULL;
	m->alias_bytes = 0;
}

/* Takes KEY.  NULL: there is no room.  A row for each window is left for [other]. */
static struct merged_row *find_or_make(struct merge *m, char *key, uint64_t window)
{
	struct merged_row wanted = {.window = window, .key = key}, **at, *row;

	at = tfind(&wanted, &m->rows, merge_order);
	if (at || (m->n >= m->max_rows && strcmp(key, KEYS_OTHER) != 0)) {
		free(key);
		return at ? *at : NULL;
	}
	row = get(malloc(sizeof(*row)));
	*row = wanted;
	get(tsearch(row, &m->rows, merge_order));
	m->n++;
	return row;
}

static struct alias *find_alias(const struct merge *m, const struct alias *wanted)
{
	struct alias *const *at = tfind(wanted, &m->aliases, alias_order);

	return at ? *at : NULL;
}

/* NULL: *ERROR. */
static struct alias *make_alias(struct merge *m, const struct alias *wanted, const struct line *l,
				const char **error)
{
	const size_t size = sizeof(*wanted) + wanted->key.n + wanted->host.n;
	uint64_t names;
	char *key = keys_of(&m->by, l, wanted->key, &names, error);
	struct alias *a;

	if (!key)
		return NULL;
	a = get(malloc(size));
	*a = *wanted;
	a->names = names;
	a->key.text = memcpy(a->text, wanted->key.text, wanted->key.n);
	a->host.text = memcpy(a->text + wanted->key.n, wanted->host.text, wanted->host.n);
	a->row = find_or_make(m, key, wanted->window);
	a->pooled = !a->row;
	if (a->pooled)
		a->row = find_or_make(m, get(strdup(KEYS_OTHER)), wanted->window);
	get(tsearch(a, &m->aliases, alias_order));
	m->alias_bytes += size;
	return a;
}

/* Finds the rows that those of the line are added to.  Returns NULL, or why they cannot be. */
static const char *find_rows(struct merge *m, const struct line *l, uint64_t window)
{
	struct alias wanted = {.window = window}, *a;
	const char *error = NULL;
	uint64_t names = 0;

	if (m->alias_bytes > MOST_ALIASES)
		merge_forget(m);
	m->lines++;
	wanted.host = m->by.host ? l->host : (struct span){"", 0};
	for (size_t i = 0; i < l->n_rows; i++) {
		struct line_row *row = &l->rows[i];

		wanted.key = row->key;
		a = find_alias(m, &wanted) ?: make_alias(m, &wanted, l, &error);
		if (!a)
			return error;
		/* What hist-merge made of several reports may have those of each. */
		if (names && a->names && a->names != names && !l->n_hosts)
			return "rows of the report have different keys";
		names = a->names ?: names;
		row->row = a->row;
		row->pooled = a->pooled;
		row->again = a->line == m->lines && !row->is_stack;
		a->line = m->lines;
	}
	return NULL;
}

static uint64_t *new_counts(uint32_t precision)
{
	return get(calloc(plumb_hist_buckets(precision), sizeof(uint64_t)));
}

/* The bucket of a lower precision that the bucket is in. */
static uint32_t coarser(uint32_t index, uint32_t from, uint32_t to)
{
	return plumb_hist_index(plumb_bucket_lowest(index, from), to);
}

static void coarsen_blocks(struct merged *of, uint32_t from, uint32_t to)
{
	uint64_t **blocks = get(calloc(plumb_hist_buckets(to), sizeof(*blocks))), *into;

	for (uint32_t i = 0; i < plumb_hist_buckets(from); i++) {
		if (!of->blocks[i])
			continue;
		into = blocks[coarser(i, from, to)];
		if (!into) {
			blocks[coarser(i, from, to)] = of->blocks[i];
			continue;
		}
		for (size_t b = 0; b < MERGE_BLOCKS; b++)
			into[b] += of->blocks[i][b];
		free(of->blocks[i]);
	}
	free(of->blocks);
	of->blocks = blocks;
}

static void coarsen_measure(struct merged *of, uint32_t from, uint32_t to)
{
	uint64_t *counts;

	if (!of->counts)
		return;
	counts = new_counts(to);
	for (uint32_t i = 0; i < plumb_hist_buckets(from); i++)
		if (of->counts[i])
			counts[coarser(i, from, to)] += of->counts[i];
	free(of->counts);
	of->counts = counts;
	if (of->blocks)
		coarsen_blocks(of, from, to);
}

static void set_precision(struct merge *m, uint32_t precision)
{
	struct merged_row **rows;
	size_t n;

	if (!m->precision)
		m->precision = m->finest = precision;
	if (precision > m->finest)
		m->finest = precision;
	if (precision >= m->precision)
		return;
	rows = merge_all(m, UINT64_MAX, &n);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < MEASURES; k++)
			coarsen_measure(&rows[i]->measures[k], m->precision, precision);
	free(rows);
	m->precision = precision;
}

/* Block i becomes the sum of 2i and 2i+1. */
static void halve_blocks(struct merge *m)
{
	uint64_t **blocks, *of;
	size_t n;
	struct merged_row **rows = merge_all(m, UINT64_MAX, &n);

	for (size_t i = 0; i < n; i++) {
		blocks = rows[i]->measures[FIRST].blocks;
		for (uint32_t j = 0; blocks && j < plumb_hist_buckets(m->precision); j++) {
			of = blocks[j];
			for (size_t b = 0; of && b < MERGE_BLOCKS; b++)
				of[b] = b < MERGE_BLOCKS / 2 ? of[2 * b] + of[2 * b + 1] : 0;
		}
	}
	free(rows);
	m->block_reports *= 2;
}

static void add_to_block(const struct merge *m, struct merged *to, uint32_t index, uint64_t count)
{
	if (!to->blocks)
		to->blocks = get(calloc(plumb_hist_buckets(m->precision), sizeof(*to->blocks)));
	if (!to->blocks[index])
		to->blocks[index] = get(calloc(MERGE_BLOCKS, sizeof(uint64_t)));
	to->blocks[index][m->reports / m->block_reports] += count;
}

static void add_measure(const struct merge *m, struct merged *to, const struct line *l,
			const struct line_measure *of, bool blocks)
{
	const struct plumb_bucket *b = l->buckets + of->bucket;
	const bool same = l->precision == m->precision;
	uint32_t index;

	if (!of->n)
		return;
	to->dist.min = !to->counts || of->min < to->dist.min ? of->min : to->dist.min;
	to->dist.max = of->max > to->dist.max ? of->max : to->dist.max;
	to->sum = ledger_sum(to->sum, of->sum);
	to->counts = to->counts ?: new_counts(m->precision);
	for (size_t i = 0; i < of->n; i++) {
		index = same ? b[i].index : coarser(b[i].index, l->precision, m->precision);
		to->counts[index] += b[i].count;
		if (blocks)
			add_to_block(m, to, index, b[i].count);
	}
}

/* Reports with and without histograms are not of one tool, but a second measure is an option. */
static const char *fits(const struct merge *m, const struct line *l)
{
	if (l->count > INT64_MAX - m->count)
		return "more than 2^63-1 calls";
	if (l->n_rows && (l->measures & 1 << FIRST ? m->lacked : m->some) & 1 << FIRST)
		return l->measures & 1 << FIRST
			       ? "its rows have histograms, unlike those before"
			       : "its rows have no histograms, unlike those before";
	if (l->second.n && m->second && !span_is(l->second, m->second))
		return "its rows have another second measure";
	return NULL;
}

static void add_rows(struct merge *m, const struct line *l)
{
	struct merged_row *row;

	for (size_t i = 0; i < l->n_rows; i++) {
		row = l->rows[i].row;
		row->count += l->rows[i].count;
		row->errors += l->rows[i].errors;
		row->errors_unknown |= l->rows[i].errors_unknown;
		m->pooled += l->rows[i].pooled ? l->rows[i].count : 0;
		m->again += l->rows[i].again;
		for (int k = 0; k < MEASURES; k++)
			add_measure(m, &row->measures[k], l, &l->rows[i].measures[k],
				    m->blocks && k == FIRST);
	}
}

const char *merge_add(struct merge *m, const struct line *l, uint64_t window)
{
	/* All keys, before anything is added.  Rows that are made stay, without calls. */
	const char *error = fits(m, l) ?: find_rows(m, l, window);

	if (error)
		return error;
	set_precision(m, l->precision);
	if (!m->block_reports)
		m->block_reports = 1;
	if (m->blocks && m->reports / m->block_reports == MERGE_BLOCKS)
		halve_blocks(m);
	add_rows(m, l);
	if (l->second.n && !m->second)
		m->second = get(strndup(l->second.text, l->second.n));
	if (l->n_rows) {
		m->some |= l->measures;
		m->lacked |= ~l->measures;
	}
	m->count += l->count;
	m->corrected += l->corrected;
	m->reports++;
	return NULL;
}
