/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "reading/line.h"
#include "reading/line.h"
#include "reading/memory.h"
#include <stdio.h>
#include <plumb/bpf/hist/hist.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static bool scan_hosts(struct scan *s, void *to, struct line *l)
{
	static const struct field fields[] = {
		{NAME("host"), .kind = STRING, .at = offsetof(struct line_host, name)},
		{NAME("reports"), .kind = NATURAL, .at = offsetof(struct line_host, reports)},
		{NAME("recorded"), .kind = NATURAL, .at = offsetof(struct line_host, recorded)},
		{NAME("lost"), .kind = NATURAL_OR_NULL, .at = offsetof(struct line_host, lost),
		 .null_at = offsetof(struct line_host, lost_unknown)},
	};
	struct line_host *h;

	for (bool more = scan_begin(s, '['); more; more = scan_more(s, ']')) {
		l->hosts = room_for_one(l->hosts, l->n_hosts, &l->room_hosts, sizeof(*l->hosts));
		h = &l->hosts[l->n_hosts++];
		*h = (struct line_host){0};
		scan_object(s, fields, LENGTH(fields), h, l, "a member of a host is there twice");
		if (!s->error && !h->name.text)
			scan_fail(s, "a host without a name");
	}
	return !s->error;
}

static bool scan_precision(struct scan *s, void *to, struct line *l)
{
	uint64_t n;

	if (!scan_natural(s, &n))
		return false;
	if (n < PLUMB_HIST_MIN_PRECISION || n > PLUMB_HIST_MAX_PRECISION)
		return scan_fail(s, "the precision is not 1 to 10");
	l->precision = n;
	return true;
}

static bool scan_run(struct scan *s, void *to, struct line *l)
{
	return scan_string(s, &l->run) &&
	       (l->run.n == 32 || scan_fail(s, "the run is not 32 digits"));
}

static bool scan_schema(struct scan *s, void *to, struct line *l)
{
	struct span schema;

	(void)to, (void)l;
	return scan_string(s, &schema) &&
	       (span_is(schema, "plumb/2") || scan_fail(s, "the schema is not plumb/2"));
}

static bool scan_ledger(struct scan *s, void *to, struct line *l)
{
	return ledger_scan(s, &l->ledger);
}

static bool scan_rows(struct scan *s, void *to, struct line *l)
{
	struct span ignored;

	if (l->precision)
		return line_rows_scan(s, l);
	l->rows_at = s->at;
	return scan_value(s, &ignored);
}

static bool pass_over(struct scan *s, void *to, struct line *l)
{
	struct span ignored;

	(void)to, (void)l;
	return scan_value(s, &ignored);
}

enum { OF = 10, HOSTS, UNIT, RUN, ELAPSED, DUMP, CALL, REQUEST, FIELDS };

/* Lines of other tools lack most; they are best named by the first that all reports have. */
static const struct field fields[FIELDS] = {
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
	/* Not in all reports. */
	[OF] = {NAME("of"), .kind = STRING, .at = offsetof(struct line, of)},
	[HOSTS] = {NAME("hosts"), .scan = scan_hosts},
	[UNIT] = {NAME("unit"), .kind = STRING, .at = offsetof(struct line, unit)},
	[RUN] = {NAME("run"), .scan = scan_run},
	[ELAPSED] = {NAME("elapsed_ns"), .kind = NATURAL, .at = offsetof(struct line, length)},
	[DUMP] = {NAME("dump"), .scan = pass_over},
	/* Tools print single calls as {"call":...} or {"request":...}. */
	[CALL] = {NAME("call"), .scan = pass_over},
	[REQUEST] = {NAME("request"), .scan = pass_over},
};

static bool check(struct scan *s, struct line *l, unsigned int seen)
{
	static char missing[64]; /* of the last error */

	for (size_t i = 0; !s->error && i < OF; i++)
		if (!(seen & 1 << i)) {
			snprintf(missing, sizeof(missing), "no report: it has no member %s",
				 fields[i].name.text);
			scan_fail(s, missing);
		}
	if (s->error)
		return false;
	/* Its rows have the same key for different causes, and no histograms. */
	if (span_is(l->tool, "wall-time"))
		return scan_fail(s, "the parts of wall-time are not merged, but compared by its "
				    "--baseline");
	l->is_measured = seen & 1 << ELAPSED;
	if (l->start > l->end && !l->is_measured)
		return scan_fail(s, "the end is before the start");
	if (!l->is_measured)
		l->length = l->end - l->start;
	/* The interval in progress; a final one is whole. */
	l->is_partial = seen & 1 << DUMP && !l->final;
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

const char *line_read(struct line *l, const char *text, size_t *at)
{
	struct scan s = {.at = text};
	unsigned int seen;

	*l = (struct line){
		.rows = l->rows,
		.room_rows = l->room_rows,
		.buckets = l->buckets,
		.room_buckets = l->room_buckets,
		.hosts = l->hosts,
		.room_hosts = l->room_hosts,
	};
	seen = scan_object(&s, fields, FIELDS, l, l, "a member is there twice");
	scan_end(&s);
	if (!s.error && l->rows_at && l->precision) {
		s.at = l->rows_at;
		line_rows_scan(&s, l);
	}
	l->is_record = !s.error && (seen == 1 << CALL || seen == 1 << REQUEST);
	if (!l->is_record)
		check(&s, l, seen);
	*at = s.at - text;
	return s.error;
}

void line_free(struct line *l)
{
	free(l->rows);
	free(l->buckets);
	free(l->hosts);
}
