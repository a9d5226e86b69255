/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "reading/line.h"
#include "reading/line-rows.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <plumb/bpf/hist/hist.h>

static bool digits(const char *text, const char *pattern)
{
	for (; *pattern; text++, pattern++)
		if (*pattern == '0' ? *text < '0' || *text > '9' : *text != *pattern)
			return false;
	return true;
}

static int number(const char *text, int n)
{
	int value = 0;

	for (int i = 0; i < n; i++)
		value = value * 10 + text[i] - '0';
	return value;
}

/* RFC 3339 in UTC with nanoseconds, as plumb/2 has it. */
static bool scan_time(struct scan *s, uint64_t *ns)
{
	struct span t;
	struct tm tm = {0}, same;
	time_t seconds;

	if (!scan_string(s, &t))
		return false;
	if (t.n != 30 || !digits(t.text, "0000-00-00T00:00:00.000000000Z\""))
		return scan_fail(s, "no time as in 2026-01-31T12:00:00.000000000Z");
	tm.tm_year = number(t.text, 4) - 1900;
	tm.tm_mon = number(t.text + 5, 2) - 1;
	tm.tm_mday = number(t.text + 8, 2);
	tm.tm_hour = number(t.text + 11, 2);
	tm.tm_min = number(t.text + 14, 2);
	tm.tm_sec = number(t.text + 17, 2);
	same = tm;
	seconds = timegm(&same);
	/* timegm() takes February 30th for March 2nd. */
	if (same.tm_mday != tm.tm_mday || same.tm_mon != tm.tm_mon || same.tm_sec != tm.tm_sec ||
	    tm.tm_year < 70 || tm.tm_year > 600)
		return scan_fail(s, "no such time");
	*ns = (uint64_t)seconds * 1000000000 + number(t.text + 20, 9);
	return true;
}

static bool scan_hosts(struct scan *s, struct line *l)
{
	struct line_host *h;
	struct span name, ignored;

	l->n_hosts = 0;
	for (bool more = scan_begin(s, '['); more; more = scan_more(s, ']')) {
		if (l->n_hosts == l->room_hosts) {
			l->room_hosts = l->room_hosts * 2 ?: 64;
			l->hosts = reallocarray(l->hosts, l->room_hosts, sizeof(*l->hosts));
			if (!l->hosts)
				abort();
		}
		h = &l->hosts[l->n_hosts++];
		*h = (struct line_host){0};
		for (bool member = scan_begin(s, '{'); member; member = scan_more(s, '}')) {
			if (!scan_member(s, &name))
				return false;
			if (span_is(name, "host"))
				scan_string(s, &h->name);
			else if (span_is(name, "reports"))
				scan_natural(s, &h->reports);
			else if (span_is(name, "recorded"))
				scan_natural(s, &h->recorded);
			else if (!span_is(name, "lost"))
				scan_value(s, &ignored);
			else if (!(h->lost_unknown = scan_null(s)))
				scan_natural(s, &h->lost);
		}
		if (!s->error && !h->name.text)
			scan_fail(s, "a host without a name");
	}
	return !s->error;
}

enum {
	SCHEMA,
	TOOL,
	HOST,
	OF,
	START,
	END,
	SEQ,
	FINAL,
	PRECISION,
	LEDGER,
	HOSTS,
	ROWS,
	UNIT,
	DUMP,
	RUN,
	ELAPSED,
	KNOWN
};

static const struct span members[KNOWN] = {
	[SCHEMA] = NAME("schema"), [TOOL] = NAME("tool"),
	[HOST] = NAME("host"),     [OF] = NAME("of"),
	[START] = NAME("start"),   [END] = NAME("end"),
	[SEQ] = NAME("seq"),       [FINAL] = NAME("final"),
	[LEDGER] = NAME("ledger"), [HOSTS] = NAME("hosts"),
	[ROWS] = NAME("rows"),     [PRECISION] = NAME("precision_bits"),
	[UNIT] = NAME("unit"),     [DUMP] = NAME("dump"),
	[RUN] = NAME("run"),       [ELAPSED] = NAME("elapsed_ns"),
};

static unsigned int member(struct span name)
{
	unsigned int i = 0;

	while (i < KNOWN && !spans_are_equal(name, members[i]))
		i++;
	return i;
}

static bool scan_precision(struct scan *s, struct line *l)
{
	uint64_t n;

	if (!scan_natural(s, &n))
		return false;
	if (n < PLUMB_HIST_MIN_PRECISION || n > PLUMB_HIST_MAX_PRECISION)
		return scan_fail(s, "the precision is not 1 to 10");
	l->precision = n;
	return true;
}

static bool scan_run(struct scan *s, struct line *l)
{
	if (!scan_string(s, &l->run))
		return false;
	return l->run.n == 32 || scan_fail(s, "the run is not 32 digits");
}

static bool scan_schema(struct scan *s)
{
	struct span schema;

	return scan_string(s, &schema) &&
	       (span_is(schema, "plumb/2") || scan_fail(s, "the schema is not plumb/2"));
}

/* ROWS: where the rows are, if they precede the precision. */
static bool scan_known(struct scan *s, struct line *l, unsigned int i, const char **rows)
{
	struct span ignored;

	/* The interval in progress; a final one is whole. */
	l->is_partial |= i == DUMP;
	switch (i) {
	case SCHEMA:
		return scan_schema(s);
	case TOOL:
		return scan_string(s, &l->tool);
	case HOST:
		return scan_string(s, &l->host);
	case OF:
		return scan_string(s, &l->of);
	case UNIT:
		return scan_string(s, &l->unit);
	case START:
		return scan_time(s, &l->start);
	case END:
		return scan_time(s, &l->end);
	case SEQ:
		return scan_natural(s, &l->seq);
	case FINAL:
		return scan_bool(s, &l->final);
	case RUN:
		return scan_run(s, l);
	case ELAPSED:
		l->is_measured = true;
		return scan_natural(s, &l->length);
	case PRECISION:
		return scan_precision(s, l);
	case LEDGER:
		return ledger_scan(s, &l->ledger);
	case HOSTS:
		return scan_hosts(s, l);
	case ROWS:
		if (l->precision)
			return line_rows_scan(s, l);
		*rows = s->at;
		return scan_value(s, &ignored);
	default:
		return scan_value(s, &ignored);
	}
}

static bool check(struct scan *s, struct line *l, unsigned int seen)
{
	static char missing[64]; /* of the last error */

	if (s->error)
		return false;
	for (unsigned int i = 0; i < KNOWN; i++) {
		/* Lines of other tools lack most; they are best named by what reports have. */
		if (seen & 1 << i || i == OF || i == HOSTS || i >= UNIT)
			continue;
		snprintf(missing, sizeof(missing), "no report: it has no member %s",
			 members[i].text);
		return scan_fail(s, missing);
	}
	if (l->start > l->end && !l->is_measured)
		return scan_fail(s, "the end is before the start");
	if (!l->is_measured)
		l->length = l->end - l->start;
	l->is_partial &= !l->final;
	if (!l->seq)
		return scan_fail(s, "seq is 0");
	if (!l->of.text)
		l->of = l->tool;
	if (l->unit.n && !span_is(l->unit, span_is(l->of, "skb-alloc") ? "bytes" : "ns"))
		return scan_fail(s, "the unit is not that of the tool's reports");
	if (l->n_hosts == 1)
		l->host = l->hosts[0].name;
	return true;
}

/* Tools print single calls as {"call":...} or {"request":...}. */
static bool is_of_a_record(struct span name)
{
	return span_is(name, "call") || span_is(name, "request");
}

const char *line_read(struct line *l, const char *text, size_t *at)
{
	struct scan scan = {.at = text}, *s = &scan;
	const char *rows = NULL;
	unsigned int seen = 0, others = 0, records = 0, i;
	struct span name;

	l->of.text = NULL;
	l->unit.n = l->run.n = 0;
	l->is_measured = false;
	l->shift = 0;
	l->is_partial = false;
	l->precision = 0;
	l->n_rows = l->n_buckets = l->n_hosts = l->count = 0;
	for (bool more = scan_begin(s, '{'); more; more = scan_more(s, '}')) {
		if (!scan_member(s, &name))
			break;
		i = member(name);
		if (i < KNOWN && seen & 1 << i)
			scan_fail(s, "a member is there twice");
		seen |= 1 << i;
		records += is_of_a_record(name);
		others += !is_of_a_record(name);
		scan_known(s, l, i, &rows);
	}
	scan_end(s);
	if (!s->error && rows && l->precision) {
		s->at = rows;
		line_rows_scan(s, l);
	}
	l->is_record = !s->error && records == 1 && !others;
	if (!l->is_record)
		check(s, l, seen);
	*at = s->at - text;
	return s->error;
}

void line_free(struct line *l)
{
	free(l->rows);
	free(l->buckets);
	free(l->hosts);
}
