/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merging/merge.h"
#include "reading/memory.h"
#include "merging/keys.h"
#include <stdlib.h>
#include <plumb/bpf/hist/hist.h>

/* Tools print a key the same way each time: its text finds the row again without being parsed. */
#define ALIASES    4096
#define ALIAS_TEXT 224

struct merge_alias {
	struct merged_row *row; /* NULL: empty */
	bool pooled;            /* the row is [other], for lack of rows */
	uint64_t window;
	size_t n, n_host;
	char text[ALIAS_TEXT]; /* of the key, then the host */
};

static uint64_t hash_of(const char *text, size_t n, uint64_t hash)
{
	uint64_t w;

	for (; n >= sizeof(w); text += sizeof(w), n -= sizeof(w)) {
		memcpy(&w, text, sizeof(w));
		hash = (hash ^ w) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
	}
	w = 0;
	memcpy(&w, text, n);
	hash = (hash ^ w ^ (uint64_t)n << 56) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

static struct merged_row *find(const struct merge *m, const char *key, uint64_t window,
			       uint64_t hash)
{
	struct merged_row *row = m->slots ? m->table[hash & (m->slots - 1)] : NULL;

	while (row && (row->hash != hash || row->window != window || strcmp(row->key, key)))
		row = row->next;
	return row;
}

static void grow_table(struct merge *m)
{
	struct merged_row **old = m->table, *row, **at;
	size_t slots = m->slots;

	m->slots = slots * 2 ?: 1024;
	m->table = get(calloc(m->slots, sizeof(*m->table)));
	for (size_t i = 0; i < slots; i++)
		while ((row = old[i])) {
			old[i] = row->next;
			at = &m->table[row->hash & (m->slots - 1)];
			row->next = *at;
			*at = row;
		}
	free(old);
}

/* Takes KEY. */
static struct merged_row *make(struct merge *m, char *key, uint64_t window, uint64_t hash)
{
	struct merged_row *row = get(calloc(1, sizeof(*row))), **at;

	if (m->n >= m->slots)
		grow_table(m);
	at = &m->table[hash & (m->slots - 1)];
	*row = (struct merged_row){.next = *at, .hash = hash, .window = window, .key = key};
	*at = row;
	m->n++;
	return row;
}

/* Takes KEY.  A row for each window is left for [other]. */
static struct merged_row *find_or_make(struct merge *m, char *key, uint64_t window)
{
	uint64_t hash = hash_of(key, strlen(key), window);
	struct merged_row *row = find(m, key, window, hash);

	if (!row && (m->n < m->max_rows || !strcmp(key, KEYS_OTHER)))
		return make(m, key, window, hash);
	free(key);
	return row;
}

static bool is_alias(const struct merge_alias *a, struct span key, struct span host,
		     uint64_t window)
{
	return a->row && a->window == window && a->n == key.n && a->n_host == host.n &&
	       !memcmp(a->text, key.text, key.n) && !memcmp(a->text + key.n, host.text, host.n);
}

static void set_alias(struct merge_alias *a, struct merged_row *row, struct span key,
		      struct span host, uint64_t window, bool pooled)
{
	if (key.n + host.n > ALIAS_TEXT)
		return;
	a->row = row;
	a->pooled = pooled;
	a->window = window;
	a->n = key.n;
	a->n_host = host.n;
	memcpy(a->text, key.text, key.n);
	memcpy(a->text + key.n, host.text, host.n);
}

/* The row that a row of the line is added to; NULL: *ERROR. */
static struct merged_row *row_of(struct merge *m, const struct line *l, const struct line_row *of,
				 uint64_t window, uint64_t *pooled, const char **error)
{
	const struct span host = m->by_host ? l->host : (struct span){"", 0};
	uint64_t hash = hash_of(of->key.text, of->key.n, hash_of(host.text, host.n, window));
	struct merge_alias *alias = &m->aliases[hash & (ALIASES - 1)];
	struct merged_row *row;
	bool lacks;
	char *key;

	if (is_alias(alias, of->key, host, window)) {
		*pooled += alias->pooled ? of->count : 0;
		return alias->row;
	}
	key = keys_of(m, l, of->key, error);
	if (!key)
		return NULL;
	row = find_or_make(m, key, window);
	lacks = !row;
	if (lacks)
		row = find_or_make(m, get(strdup(KEYS_OTHER)), window);
	set_alias(alias, row, of->key, host, window, lacks);
	*pooled += lacks ? of->count : 0;
	return row;
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
	struct merged_row *row;

	if (!m->precision)
		m->precision = m->finest = precision;
	if (precision > m->finest)
		m->finest = precision;
	if (precision >= m->precision)
		return;
	for (size_t i = 0; i < m->slots; i++)
		for (row = m->table[i]; row; row = row->next)
			for (int k = 0; k < MEASURES; k++)
				coarsen_measure(&row->measures[k], m->precision, precision);
	m->precision = precision;
}

/* Block i becomes the sum of 2i and 2i+1. */
static void halve_blocks(struct merge *m)
{
	struct merged_row *row;
	uint64_t *of;

	for (size_t i = 0; i < m->slots; i++)
		for (row = m->table[i]; row; row = row->next)
			for (uint32_t j = 0;
			     row->measures[FIRST].blocks && j < plumb_hist_buckets(m->precision);
			     j++) {
				of = row->measures[FIRST].blocks[j];
				if (!of)
					continue;
				for (size_t b = 0; b < MERGE_BLOCKS; b++)
					of[b] = b < MERGE_BLOCKS / 2 ? of[2 * b] + of[2 * b + 1]
								     : 0;
			}
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

	if (!of->is_there || !of->n)
		return;
	if (!to->counts)
		to->counts = new_counts(m->precision);
	to->min = !to->is_there || of->min < to->min ? of->min : to->min;
	to->max = !to->is_there || of->max > to->max ? of->max : to->max;
	to->sum = ledger_sum(to->sum, of->sum);
	to->is_there = true;
	for (size_t i = 0; i < of->n; i++) {
		index = same ? b[i].index : coarser(b[i].index, l->precision, m->precision);
		to->counts[index] += b[i].count;
		if (blocks)
			add_to_block(m, to, index, b[i].count);
	}
}

static const char *fits(struct merge *m, const struct line *l)
{
	if (l->count > INT64_MAX - m->count)
		return "more than 2^63-1 calls";
	if (!l->second.n)
		return NULL;
	if (!m->second)
		m->second = get(strndup(l->second.text, l->second.n));
	return span_is(l->second, m->second) ? NULL : "its rows have another second measure";
}

const char *merge_add(struct merge *m, const struct line *l, uint64_t window)
{
	const char *error = fits(m, l);
	uint64_t pooled = 0;
	struct merged_row *row;

	if (!m->aliases)
		m->aliases = get(calloc(ALIASES, sizeof(*m->aliases)));
	/* All keys, before anything is added.  Rows that are made stay, without calls. */
	for (size_t i = 0; !error && i < l->n_rows; i++)
		l->rows[i].row = row_of(m, l, &l->rows[i], window, &pooled, &error);
	if (error)
		return error;
	set_precision(m, l->precision);
	if (!m->block_reports)
		m->block_reports = 1;
	if (m->blocks && m->reports / m->block_reports == MERGE_BLOCKS)
		halve_blocks(m);
	for (size_t i = 0; i < l->n_rows; i++) {
		row = l->rows[i].row;
		row->count += l->rows[i].count;
		row->errors += l->rows[i].errors;
		row->errors_unknown |= l->rows[i].errors_unknown;
		for (int k = 0; k < MEASURES; k++)
			add_measure(m, &row->measures[k], l, &l->rows[i].measures[k],
				    m->blocks && k == FIRST);
	}
	m->count += l->count;
	m->pooled += pooled;
	m->reports++;
	return NULL;
}

void merge_forget(struct merge *m)
{
	for (size_t i = 0; m->aliases && i < ALIASES; i++)
		m->aliases[i].row = NULL;
}
