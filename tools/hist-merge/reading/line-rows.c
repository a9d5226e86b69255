/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "reading/line.h"
#include "reading/memory.h"
#include <plumb/bpf/hist/hist.h>

#define TWICE "a member of a row is there twice"

/* The bucket with these bounds; false: there is none. */
static inline bool find_bucket(uint32_t precision, uint64_t low, uint64_t high, uint32_t *index)
{
	uint32_t i = plumb_hist_index(low, precision), shift = i >> precision;

	*index = i;
	/* The saturated bucket ends at the longest call. */
	if (low >> PLUMB_HIST_RANGE_BITS)
		return low == 1ULL << PLUMB_HIST_RANGE_BITS && high >= low;
	shift -= shift != 0;
	return !(low & ((1ULL << shift) - 1)) && high == low + (1ULL << shift) - 1;
}

static inline bool bucket_numbers(struct scan *s, uint64_t *numbers)
{
	bool more = scan_begin(s, '[');
	int n = 0;

	for (; more && n < 3; more = scan_more(s, ']'))
		if (!scan_natural(s, &numbers[n++]))
			return false;
	return !s->error && ((n == 3 && !more) || scan_fail(s, "a bucket has three numbers"));
}

static bool add_bucket(struct scan *s, struct line *l, struct line_measure *m, uint64_t *numbers)
{
	uint32_t index;

	if (!find_bucket(l->precision, numbers[0], numbers[1], &index))
		return scan_fail(s, "no bucket of this precision has these bounds");
	if (m->n && l->buckets[l->n_buckets - 1].index >= index)
		return scan_fail(s, "buckets are not in ascending order");
	if (!numbers[2])
		return scan_fail(s, "an empty bucket");
	m->count += numbers[2];
	if (m->count > INT64_MAX)
		return scan_fail(s, "the buckets have more than 2^63-1 calls");
	l->buckets = room_for_one(l->buckets, l->n_buckets, &l->room_buckets, sizeof(*l->buckets));
	l->buckets[l->n_buckets++] = (struct plumb_bucket){index, numbers[2]};
	m->n++;
	return true;
}

static bool scan_hist(struct scan *s, void *measure, struct line *l)
{
	struct line_measure *m = measure;
	uint64_t numbers[3];

	m->bucket = l->n_buckets;
	for (bool more = scan_begin(s, '['); more; more = scan_more(s, ']'))
		if (!bucket_numbers(s, numbers) || !add_bucket(s, l, m, numbers))
			return false;
	return !s->error;
}

/* As minimum and maximum, the sum of a running trace may have a call that no bucket has yet. */
static void correct_sum(struct line *l, struct line_measure *m)
{
	unsigned __int128 low = (unsigned __int128)m->count * m->min;
	unsigned __int128 high = (unsigned __int128)m->count * m->max;
	uint64_t sum = m->sum;

	if (sum < low)
		m->sum = low < INT64_MAX ? low : INT64_MAX;
	else if (sum > high)
		m->sum = high;
	l->corrected += m->sum != sum;
}

/* The first fields of a row, and those of a second measure. */
enum { SUM, MIN, MAX, HIST, MEASURE_FIELDS };

/* Minimum and maximum belong into the outermost buckets; those of a running trace may be newer. */
static bool check_measure(struct scan *s, struct line *l, struct line_measure *m, unsigned int seen)
{
	const struct plumb_bucket *of = l->buckets + m->bucket;
	uint64_t bound;

	if (s->error || !(seen & 1 << HIST))
		return !s->error;
	if (!(seen & 1 << SUM && seen & 1 << MIN && seen & 1 << MAX))
		return scan_fail(s, "a histogram without sum, min or max");
	if (!m->n)
		return true;
	bound = plumb_bucket_lowest(of[0].index, l->precision);
	m->min = m->min < bound ? bound : m->min;
	if (m->min > plumb_bucket_highest(of[0].index, l->precision))
		return scan_fail(s, "the minimum is above the first bucket");
	bound = plumb_bucket_highest(of[m->n - 1].index, l->precision);
	m->max = m->max > bound ? bound : m->max;
	if (m->max < plumb_bucket_lowest(of[m->n - 1].index, l->precision))
		return scan_fail(s, "the maximum is below the last bucket");
	if (m->min > m->max)
		return scan_fail(s, "the minimum is above the maximum");
	correct_sum(l, m);
	return true;
}

/* The second measure is an object of its own: {"sum":...,"hist":...}. */
static bool scan_second(struct scan *s, struct line_row *row, struct line *l, struct span name)
{
	static const struct field fields[MEASURE_FIELDS] = {
		[SUM] = {NAME("sum"), .kind = NATURAL, .at = offsetof(struct line_measure, sum)},
		[MIN] = {NAME("min"), .kind = NATURAL, .at = offsetof(struct line_measure, min)},
		[MAX] = {NAME("max"), .kind = NATURAL, .at = offsetof(struct line_measure, max)},
		[HIST] = {NAME("hist"), .scan = scan_hist},
	};
	struct line_measure *m = &row->measures[SECOND];
	unsigned int seen;

	if (l->second.n && !spans_are_equal(name, l->second))
		return scan_fail(s, "rows have different second measures");
	l->second = name;
	seen = scan_object(s, fields, MEASURE_FIELDS, m, l, TWICE);
	row->has |= !!(seen & 1 << HIST) << SECOND;
	return check_measure(s, l, m, seen);
}

static bool scan_cpu(struct scan *s, void *row, struct line *l)
{
	return scan_second(s, row, l, (struct span)NAME("cpu"));
}

static bool scan_latency(struct scan *s, void *row, struct line *l)
{
	return scan_second(s, row, l, (struct span)NAME("latency"));
}

static bool scan_first(struct scan *s, void *to, struct line *l)
{
	struct line_row *row = to;

	row->has |= 1 << FIRST;
	return scan_hist(s, &row->measures[FIRST], l);
}

static bool scan_key(struct scan *s, void *to, struct line *l)
{
	struct line_row *row = to;

	return scan_value(s, &row->key) &&
	       (*row->key.text == '{' || scan_fail(s, "the key is no object"));
}

static bool scan_stack(struct scan *s, void *to, struct line *l)
{
	struct line_row *row = to;
	struct span ignored;

	row->is_stack = true;
	return scan_value(s, &ignored);
}

enum { KEY = MEASURE_FIELDS, COUNT, ERRORS, CPU, LATENCY, STACK, FIELDS };

static const struct field fields[FIELDS] = {
	[SUM] = {NAME("sum"), .kind = NATURAL,
		 .at = offsetof(struct line_row, measures[FIRST].sum)},
	[MIN] = {NAME("min"), .kind = NATURAL,
		 .at = offsetof(struct line_row, measures[FIRST].min)},
	[MAX] = {NAME("max"), .kind = NATURAL,
		 .at = offsetof(struct line_row, measures[FIRST].max)},
	[HIST] = {NAME("hist"), .scan = scan_first},
	[KEY] = {NAME("key"), .scan = scan_key},
	[COUNT] = {NAME("count"), .kind = NATURAL, .at = offsetof(struct line_row, count)},
	[ERRORS] = {NAME("errors"), .kind = NATURAL_OR_NULL,
		    .at = offsetof(struct line_row, errors),
		    .null_at = offsetof(struct line_row, errors_unknown)},
	[CPU] = {NAME("cpu"), .scan = scan_cpu},
	[LATENCY] = {NAME("latency"), .scan = scan_latency},
	[STACK] = {NAME("stack"), .scan = scan_stack},
};

static bool check_row(struct scan *s, struct line *l, struct line_row *row, unsigned int seen)
{
	if (s->error)
		return false;
	if (!(seen & 1 << KEY) || !(seen & 1 << COUNT))
		return scan_fail(s, "a row without key or count");
	if (row->errors > row->count)
		return scan_fail(s, "more errors than calls");
	for (int m = 0; m < MEASURES; m++)
		if (row->has & 1 << m && row->measures[m].count != row->count)
			return scan_fail(s, "the buckets do not add up to the count");
	if (l->n_rows > 1 && row->has != l->measures)
		return scan_fail(s, "a row without a histogram that others have");
	l->measures = row->has;
	l->count += row->count;
	if (l->count > INT64_MAX)
		return scan_fail(s, "the rows have more than 2^63-1 calls");
	return check_measure(s, l, &row->measures[FIRST], seen);
}

bool line_rows_scan(struct scan *s, struct line *l)
{
	struct line_row *row;

	for (bool more = scan_begin(s, '['); more; more = scan_more(s, ']')) {
		l->rows = room_for_one(l->rows, l->n_rows, &l->room_rows, sizeof(*l->rows));
		row = &l->rows[l->n_rows++];
		*row = (struct line_row){0};
		if (!check_row(s, l, row, scan_object(s, fields, FIELDS, row, l, TWICE)))
			return false;
	}
	return !s->error;
}
