/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "reading/line-rows.h"
#include "reading/memory.h"
#include <plumb/bpf/hist/hist.h>

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

static bool scan_hist(struct scan *s, struct line *l, struct line_measure *m)
{
	uint64_t numbers[3];

	m->bucket = l->n_buckets;
	for (bool more = scan_begin(s, '['); more; more = scan_more(s, ']'))
		if (!bucket_numbers(s, numbers) || !add_bucket(s, l, m, numbers))
			return false;
	return !s->error;
}

enum { KEY, COUNT, ERRORS, SUM, MIN, MAX, HIST, CPU, LATENCY, STACK, KNOWN };

/* With their lengths, which differ for most: they are looked up for each row. */
static const struct span members[KNOWN] = {
	[KEY] = NAME("key"),     [COUNT] = NAME("count"), [ERRORS] = NAME("errors"),
	[SUM] = NAME("sum"),     [MIN] = NAME("min"),     [MAX] = NAME("max"),
	[HIST] = NAME("hist"),   [CPU] = NAME("cpu"),     [LATENCY] = NAME("latency"),
	[STACK] = NAME("stack"),
};

static unsigned int member(struct span name)
{
	unsigned int i = 0;

	while (i < KNOWN && !spans_are_equal(name, members[i]))
		i++;
	return i;
}

static bool scan_measure_member(struct scan *s, struct line *l, unsigned int i,
				struct line_measure *m)
{
	switch (i) {
	case SUM:
		return scan_natural(s, &m->sum);
	case MIN:
		return scan_natural(s, &m->min);
	case MAX:
		return scan_natural(s, &m->max);
	default:
		return scan_hist(s, l, m);
	}
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

/* Minimum and maximum belong into the outermost buckets; those of a running trace may be newer. */
static bool check_measure(struct scan *s, struct line *l, struct line_measure *m, unsigned int seen)
{
	const unsigned int needed = 1 << SUM | 1 << MIN | 1 << MAX;
	const struct plumb_bucket *of = l->buckets + m->bucket;
	uint64_t bound;

	if (s->error || !(seen & 1 << HIST))
		return !s->error;
	if ((seen & needed) != needed)
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
static bool scan_second(struct scan *s, struct line *l, struct span name, struct line_row *row)
{
	unsigned int seen = 0, i;
	struct span ignored;

	if (l->second.n && !spans_are_equal(name, l->second))
		return scan_fail(s, "rows have different second measures");
	l->second = name;
	for (bool more = scan_begin(s, '{'); more; more = scan_more(s, '}')) {
		if (!scan_member(s, &name))
			return false;
		i = member(name);
		if (i < SUM || i > HIST) {
			scan_value(s, &ignored);
			continue;
		}
		if (seen & 1 << i)
			return scan_fail(s, "a member of a row is there twice");
		seen |= 1 << i;
		scan_measure_member(s, l, i, &row->measures[SECOND]);
	}
	row->has |= !!(seen & 1 << HIST) << SECOND;
	return check_measure(s, l, &row->measures[SECOND], seen);
}

static bool scan_row_member(struct scan *s, struct line *l, struct line_row *row, unsigned int i,
			    struct span name)
{
	struct span ignored;

	switch (i) {
	case KEY:
		return scan_value(s, &row->key) &&
		       (*row->key.text == '{' || scan_fail(s, "the key is no object"));
	case COUNT:
		return scan_natural(s, &row->count);
	case ERRORS:
		row->errors_unknown = scan_null(s);
		return row->errors_unknown || scan_natural(s, &row->errors);
	case CPU:
	case LATENCY:
		return scan_second(s, l, name, row);
	case STACK:
		row->is_stack = true;
		return scan_value(s, &ignored);
	default:
		return scan_measure_member(s, l, i, &row->measures[FIRST]);
	}
}

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

static bool scan_row(struct scan *s, struct line *l, struct line_row *row)
{
	struct span name, ignored;
	unsigned int seen = 0, i;

	*row = (struct line_row){0};
	for (bool more = scan_begin(s, '{'); more; more = scan_more(s, '}')) {
		if (!scan_member(s, &name))
			return false;
		i = member(name);
		if (i == KNOWN) {
			scan_value(s, &ignored);
			continue;
		}
		if (seen & 1 << i)
			return scan_fail(s, "a member of a row is there twice");
		seen |= 1 << i;
		scan_row_member(s, l, row, i, name);
	}
	row->has |= !!(seen & 1 << HIST) << FIRST;
	return check_row(s, l, row, seen);
}

bool line_rows_scan(struct scan *s, struct line *l)
{
	for (bool more = scan_begin(s, '['); more; more = scan_more(s, ']')) {
		l->rows = room_for_one(l->rows, l->n_rows, &l->room_rows, sizeof(*l->rows));
		if (!scan_row(s, l, &l->rows[l->n_rows++]))
			return false;
	}
	return !s->error;
}
