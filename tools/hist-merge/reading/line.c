/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "reading/line.h"
#include "reading/line-rows.h"
#include "reading/memory.h"
#include <stdio.h>
#include <time.h>
#include <plumb/bpf/hist/hist.h>

/* RFC 3339 in UTC with nanoseconds, as plumb/2 has it. */
static bool scan_time(struct scan *s, uint64_t *ns)
{
	struct tm tm = {};
	char again[32] = "";
	const char *rest;
	struct span t;
	time_t seconds;

	if (!scan_string(s, &t))
		return false;
	rest = strptime(t.text, "%Y-%m-%dT%H:%M:%S.", &tm);
	if (t.n != 30 || rest != t.text + 20 || strspn(rest, "0123456789") != 9 || rest[9] != 'Z')
		return scan_fail(s, "no time as in 2026-01-31T12:00:00.000000000Z");
	seconds = timegm(&tm);
	strftime(again, sizeof(again), "%Y-%m-%dT%H:%M:%S", &tm);
	/* strptime() takes blanks for digits, and timegm() February 30th for March 2nd. */
	if (memcmp(again, t.text, 19) != 0 || tm.tm_year < 70 || tm.tm_year > 600)
		return scan_fail(s, "no such time");
	*ns = (uint64_t)seconds * 1000000000 + strtoul(rest, NULL, 10);
	return true;
}

static bool scan_hosts(struct scan *s, struct line *l)
{
	struct line_host *h;
	struct span name, ignored;

	l->n_hosts = 0;
	for (bool more = scan_begin(s, '['); more; more = scan_more(s, ']')) {
		l->hosts = room_for_one(l->hosts, l->n_hosts, &l->room_hosts, sizeof(*l->hosts));
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

static bool scan_schema(struct scan *s, struct line *l)
{
	struct span schema;

	(void)l;
	return scan_string(s, &schema) &&
	       (span_is(schema, "plumb/2") || scan_fail(s, "the schema is not plumb/2"));
}

static bool scan_elapsed(struct scan *s, struct line *l)
{
	l->is_measured = true;
	return scan_natural(s, &l->length);
}

/* The interval in progress; a final one is whole. */
static bool scan_dump(struct scan *s, struct line *l)
{
	struct span ignored;

	l->is_partial = true;
	return scan_value(s, &ignored);
}

static bool scan_ledger(struct scan *s, struct line *l)
{
	return ledger_scan(s, &l->ledger);
}

static bool scan_rows(struct scan *s, struct line *l)
{
	struct span ignored;

	if (l->precision)
		return line_rows_scan(s, l);
	l->rows_at = s->at;
	return scan_value(s, &ignored);
}

/* Lines of other tools lack most; they are best named by the first that all reports have. */
static const struct {
	struct span name;
	enum { FUNCTION, STRING, TIME, NATURAL, BOOL } kind;
	size_t at; /* in struct line */
	bool (*scan)(struct scan *s, struct line *l);
	bool may_lack;
} members[] = {
	{NAME("schema"), .scan = scan_schema},
	{NAME("tool"), .kind = STRING, .at = offsetof(struct line, tool)},
	{NAME("host"), .kind = STRING, .at = offsetof(struct line, host)},
	{NAME("start"), .kind = TIME, .at = offsetof(struct line, start)},
	{NAME("end"), .kind = TIME, .at = offsetof(struct line, end)},
	{NAME("seq"), .kind = NATURAL, .at = offsetof(struct line, seq)},
	{NAME("final"), .kind = BOOL, .at = offsetof(struct line, final)},
	{NAME("precision_bits"), .scan = scan_precision},
	{NAME("ledger"), .scan = scan_ledger},
	{NAME("rows"), .scan = scan_rows},
	{NAME("of"), .kind = STRING, .at = offsetof(struct line, of), .may_lack = true},
	{NAME("hosts"), .scan = scan_hosts, .may_lack = true},
	{NAME("unit"), .kind = STRING, .at = offsetof(struct line, unit), .may_lack = true},
	{NAME("dump"), .scan = scan_dump, .may_lack = true},
	{NAME("run"), .scan = scan_run, .may_lack = true},
	{NAME("elapsed_ns"), .scan = scan_elapsed, .may_lack = true},
};

#define MEMBERS (sizeof(members) / sizeof(members[0]))

static bool scan_known(struct scan *s, struct line *l, size_t i)
{
	void *to = (char *)l + members[i].at;

	switch (members[i].kind) {
	case STRING:
		return scan_string(s, to);
	case TIME:
		return scan_time(s, to);
	case NATURAL:
		return scan_natural(s, to);
	case BOOL:
		return scan_bool(s, to);
	default:
		return members[i].scan(s, l);
	}
}

static bool check(struct scan *s, struct line *l, unsigned int seen)
{
	static char missing[64]; /* of the last error */

	for (size_t i = 0; !s->error && i < MEMBERS; i++)
		if (!(seen & 1 << i) && !members[i].may_lack) {
			snprintf(missing, sizeof(missing), "no report: it has no member %s",
				 members[i].name.text);
			scan_fail(s, missing);
		}
	if (s->error)
		return false;
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

static void scan_line(struct scan *s, struct line *l)
{
	unsigned int seen = 0, others = 0, records = 0;
	struct span name, ignored;
	size_t i;

	for (bool more = scan_begin(s, '{'); more && scan_member(s, &name);
	     more = scan_more(s, '}')) {
		/* Tools print single calls as {"call":...} or {"request":...}. */
		if (span_is(name, "call") || span_is(name, "request"))
			records++;
		else
			others++;
		for (i = 0; i < MEMBERS && !spans_are_equal(name, members[i].name); i++)
			;
		if (i == MEMBERS) {
			scan_value(s, &ignored);
			continue;
		}
		if (seen & 1 << i)
			scan_fail(s, "a member is there twice");
		seen |= 1 << i;
		scan_known(s, l, i);
	}
	scan_end(s);
	if (!s->error && l->rows_at && l->precision) {
		s->at = l->rows_at;
		line_rows_scan(s, l);
	}
	l->is_record = !s->error && records == 1 && !others;
	if (!l->is_record)
		check(s, l, seen);
}

const char *line_read(struct line *l, const char *text, size_t *at)
{
	struct scan s = {.at = text};

	*l = (struct line){
		.rows = l->rows,
		.room_rows = l->room_rows,
		.buckets = l->buckets,
		.room_buckets = l->room_buckets,
		.hosts = l->hosts,
		.room_hosts = l->room_hosts,
	};
	scan_line(&s, l);
	*at = s.at - text;
	return s.error;
}

void line_free(struct line *l)
{
	free(l->rows);
	free(l->buckets);
	free(l->hosts);
}
