/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/parse.h>
#include <plumb/core/tool.h>
#include <plumb/recorder/trigger.h>

#define THOUSAND 1000ULL

/* What a tool has to measure for a term. */
enum { ALWAYS, HISTOGRAM, SUMS, ERRORS };

static const struct {
	const char *name;
	enum plumb_term term;
	int needs;
} terms[] = {
	{"max", PLUMB_TERM_MAX, HISTOGRAM},    {"mean", PLUMB_TERM_MEAN, SUMS},
	{"total", PLUMB_TERM_TOTAL, SUMS},     {"count", PLUMB_TERM_COUNT, ALWAYS},
	{"errors", PLUMB_TERM_ERRORS, ERRORS}, {"lost", PLUMB_TERM_LOST, ALWAYS},
	{"missed", PLUMB_TERM_MISSED, ALWAYS},
};

/* --- the grammar --- */

/* The text and where in it the parser is, for messages. */
struct parsing {
	const char *text, *at;
	const struct plumb_tool *tool;
	char *why;
	size_t size;
};

static int expected(const struct parsing *p, const char *what)
{
	snprintf(p->why, p->size, "column %zu: expected %s", p->at - p->text + 1, what);
	return -EINVAL;
}

static bool has(const struct plumb_tool *tool, int needs)
{
	switch (needs) {
	case HISTOGRAM:
		return plumb_has_histogram(tool->measure.kind);
	case SUMS:
		return tool->measure.kind != PLUMB_COUNTS;
	case ERRORS:
		return tool->measure.errors;
	default:
		return true;
	}
}

static int no_term(const struct parsing *p)
{
	char known[160] = "";
	size_t n = snprintf(known, sizeof(known), "one of%s",
			    has(p->tool, HISTOGRAM) ? " p99 (any percentile)" : "");

	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		if (has(p->tool, terms[i].needs) && n < sizeof(known))
			n += snprintf(known + n, sizeof(known) - n, " %s", terms[i].name);
	return expected(p, known);
}

static int parse_percentile(struct parsing *p, size_t length, struct plumb_trigger *t)
{
	char number[16];

	if (length >= sizeof(number))
		return no_term(p);
	memcpy(number, p->at + 1, length - 1);
	number[length - 1] = 0;
	t->term = PLUMB_TERM_PERCENTILE;
	if (plumb_parse_fixed(number, 6, 1, 100 * PLUMB_PERCENT, &t->percentile)) {
		p->at++;
		return expected(p, "a percentile above 0 and at most 100, as in p99.9");
	}
	p->at += length;
	return 0;
}

static int parse_term(struct parsing *p, struct plumb_trigger *t)
{
	const size_t length = strcspn(p->at, "<>= ");

	if (*p->at == 'p' && isdigit((unsigned char)p->at[1]) && has(p->tool, HISTOGRAM))
		return parse_percentile(p, length, t);
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
		if (strlen(terms[i].name) != length || strncmp(terms[i].name, p->at, length) != 0 ||
		    !has(p->tool, terms[i].needs))
			continue;
		t->term = terms[i].term;
		p->at += length;
		return 0;
	}
	return no_term(p);
}

static int parse_comparison(struct parsing *p, struct plumb_trigger *t)
{
	if (*p->at != '>' && *p->at != '<')
		return expected(p, "> >= < or <=");
	t->below = *p->at++ == '<';
	t->or_equal = *p->at == '=';
	p->at += t->or_equal;
	return 0;
}

static bool is_time(const struct parsing *p, const struct plumb_trigger *t)
{
	return t->term <= PLUMB_TERM_TOTAL && p->tool->measure.kind != PLUMB_SIZES;
}

static bool is_size(const struct parsing *p, const struct plumb_trigger *t)
{
	return t->term <= PLUMB_TERM_TOTAL && p->tool->measure.kind == PLUMB_SIZES;
}

/* N before SUFFIX, which is the end of the text; false: the text ends otherwise. */
static bool parse_number(const char *text, const char *suffix, uint64_t *thousandths)
{
	const size_t n = strlen(text), end = strlen(suffix);
	char number[32];

	if (n < end || strcmp(text + n - end, suffix) != 0 || n - end >= sizeof(number))
		return false;
	memcpy(number, text, n - end);
	number[n - end] = 0;
	return !plumb_parse_fixed(number, 3, 0, INT64_MAX, thousandths);
}

static int parse_number_or_unit(struct parsing *p, struct plumb_trigger *t)
{
	if (plumb_trigger_is_of_rows(t) && parse_number(p->at, "*median", &t->value)) {
		t->kind = PLUMB_TIMES_MEDIAN;
		return 0;
	}
	if (is_time(p, t))
		return plumb_parse_span(p->at, 0, INT64_MAX, &t->value)
			       ? expected(p, "a time with its unit, as 50ms, or as 2*median")
			       : 0;
	if (is_size(p, t))
		return plumb_parse_size(p->at, 0, INT64_MAX, &t->value)
			       ? expected(p, "bytes, as 512 or 64K, or as 2*median")
			       : 0;
	if (parse_number(p->at, "/s", &t->value)) {
		t->kind = PLUMB_PER_SECOND;
		return 0;
	}
	if (parse_number(p->at, "", &t->value))
		return 0;
	return expected(p, plumb_trigger_is_of_rows(t) ? "a number, as 100, 1000/s or 2*median"
						       : "a number, as 0 or 10/s");
}

static int parse_value(struct parsing *p, struct plumb_trigger *t)
{
	const int err = parse_number_or_unit(p, t);

	if (err || t->value || !t->below || t->or_equal)
		return err;
	snprintf(p->why, p->size, "column %zu: it never holds, nothing is below 0",
		 p->at - p->text + 1);
	return -EINVAL;
}

int plumb_trigger_parse(const char *text, const struct plumb_tool *tool, struct plumb_trigger *t,
			char *why, size_t size)
{
	struct parsing p = {.text = text, .at = text, .tool = tool, .why = why, .size = size};

	*t = (struct plumb_trigger){.text = text};
	return parse_term(&p, t) ?: parse_comparison(&p, t) ?: parse_value(&p, t);
}

/* --- evaluation --- */

bool plumb_trigger_is_of_rows(const struct plumb_trigger *t)
{
	return t->term < PLUMB_TERM_LOST;
}

uint64_t plumb_trigger_value(const struct plumb_trigger *t, const struct plumb_row *row)
{
	switch (t->term) {
	case PLUMB_TERM_PERCENTILE:
		return row->dist.n ? plumb_percentile(&row->dist, t->percentile) : PLUMB_NO_VALUE;
	case PLUMB_TERM_MAX:
		return row->dist.n ? row->dist.max : PLUMB_NO_VALUE;
	case PLUMB_TERM_MEAN:
		return row->count ? row->sum / row->count : PLUMB_NO_VALUE;
	case PLUMB_TERM_TOTAL:
		return row->sum;
	case PLUMB_TERM_ERRORS:
		return row->errors;
	default:
		return row->count;
	}
}

/* Whether A compares with B as T says. */
static bool compares(const struct plumb_trigger *t, unsigned __int128 a, unsigned __int128 b)
{
	return (t->or_equal && a == b) || (t->below ? a < b : a > b);
}

/*
 * A value above the median times N is above more than half of all values times N.  This takes no
 * sorted copy.
 */
static bool compares_with_median(const struct plumb_trigger *t, uint64_t value,
				 const uint64_t *before, size_t n)
{
	size_t known = 0, satisfied = 0;

	for (size_t i = 0; i < n; i++) {
		if (before[i] == PLUMB_NO_VALUE)
			continue;
		known++;
		satisfied += compares(t, (unsigned __int128)value * THOUSAND,
				      (unsigned __int128)before[i] * t->value);
	}
	return known >= PLUMB_MEDIAN_LEAST && 2 * satisfied > known;
}

/* Whether the value becomes more as the interval becomes longer. */
static bool grows(const struct plumb_trigger *t)
{
	return t->term >= PLUMB_TERM_TOTAL;
}

bool plumb_trigger_can_judge(const struct plumb_trigger *t, uint64_t elapsed, uint64_t interval)
{
	return elapsed && !(t->below && grows(t) && elapsed < interval / 2);
}

/* The length by which values are compared: intervals of nearly the same one are equally long. */
static uint64_t rounded(uint64_t elapsed, uint64_t interval)
{
	const uint64_t percent = interval / 100;

	return elapsed >= interval - percent && elapsed <= interval + percent ? interval : elapsed;
}

uint64_t plumb_trigger_for_median(const struct plumb_trigger *t, uint64_t value, uint64_t elapsed,
				  uint64_t interval)
{
	unsigned __int128 scaled = (unsigned __int128)value * THOUSAND;

	if (value == PLUMB_NO_VALUE || !grows(t))
		return value;
	scaled = scaled * interval / rounded(elapsed, interval);
	return scaled < PLUMB_NO_VALUE ? scaled : PLUMB_NO_VALUE - 1;
}

bool plumb_trigger_holds(const struct plumb_trigger *t, uint64_t value, uint64_t elapsed,
			 uint64_t interval, const uint64_t *before, size_t n)
{
	/* Times and bytes are as they are, numbers in thousandths. */
	const uint64_t unit = t->term <= PLUMB_TERM_TOTAL ? 1 : THOUSAND;

	if (value == PLUMB_NO_VALUE || !plumb_trigger_can_judge(t, elapsed, interval))
		return false;
	if (t->kind == PLUMB_TIMES_MEDIAN)
		return compares_with_median(
			t, plumb_trigger_for_median(t, value, elapsed, interval), before, n);
	if (t->kind == PLUMB_PER_SECOND)
		return compares(t, (unsigned __int128)value * THOUSAND * 1000000000,
				(unsigned __int128)t->value * elapsed);
	/* Less is in a shorter interval, too: VALUE is that of a whole one. */
	if (t->below && grows(t))
		return compares(t, (unsigned __int128)value * unit * interval,
				(unsigned __int128)t->value * rounded(elapsed, interval));
	return compares(t, (unsigned __int128)value * unit, t->value);
}
