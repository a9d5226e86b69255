/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* print's tables, histograms and the footer. */
#include "printing/print.h"
#include "reading/memory.h"
#include <ctype.h>
#include <errno.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>
#include <plumb/terminal/text-table.h>

#define MOST_COLUMNS 64
#define MOST_LOSERS  20

/* A table while it is laid out and filled. */
struct layout {
	const struct result *result;
	const char *keys[MOST_COLUMNS]; /* in the order of the first row that has them */
	size_t n_keys;
	json_t **of; /* the keys of the rows, which hold the names */
	char headings[MOST_COLUMNS][40];
	const char *list[MOST_COLUMNS];
	size_t n;
	bool errors;
	struct plumb_text_table *table;
};

static size_t shown(const struct result *r)
{
	uint64_t top = r->reading->options->shared.top;

	return top && top < r->n ? top : r->n;
}

static void add_heading(struct layout *l, bool right, const char *prefix, const char *name)
{
	char *text = l->headings[l->n];

	snprintf(text, sizeof(l->headings[0]), "%s%s%s", right ? ">" : "", prefix, name);
	for (; *text; text++)
		*text = toupper((unsigned char)*text);
	l->list[l->n] = l->headings[l->n];
	l->n++;
}

static void add_keys(struct layout *l, json_t *key)
{
	const char *name;
	json_t *value;
	size_t i;

	json_object_foreach(key, name, value)
	{
		for (i = 0; i < l->n_keys && strcmp(l->keys[i], name) != 0; i++)
			;
		if (!strcmp(name, "other") || i < l->n_keys ||
		    i == MOST_COLUMNS - PLUMB_MAX_PERCENTILES - 8)
			continue;
		l->keys[l->n_keys++] = name;
		add_heading(l, json_is_integer(value), "", name);
	}
}

static void lay_out(struct layout *l)
{
	const struct result *r = l->result;
	const struct plumb_options *o = &r->reading->options->shared;

	l->of = get(calloc(r->n + 1, sizeof(*l->of)));
	for (size_t i = 0; i < shown(r); i++) {
		l->of[i] = json_loads(r->rows[i]->key, 0, NULL);
		add_keys(l, l->of[i]);
	}
	if (!l->n_keys)
		add_heading(l, false, "", "key");
	add_heading(l, true, "", "calls");
	for (size_t i = 0; i < r->n; i++)
		l->errors |= r->rows[i]->errors > 0;
	if (l->errors)
		add_heading(l, true, "", "errors");
	if (merge_has(&r->reading->merge, FIRST)) {
		add_heading(l, true, "", "total");
		for (size_t i = 0; i < o->n_percentiles; i++)
			add_heading(l, true, "p", o->percentiles[i].name);
		add_heading(l, true, "", "max");
	}
	l->table = plumb_text_table_new(l->list, l->n);
}

static void add_key_cells(struct layout *l, const json_t *key)
{
	const bool other = json_is_true(json_object_get(key, "other"));
	const json_t *value;
	char *text;

	if (!l->n_keys)
		plumb_text_table_cell(l->table, "%s", other ? "[other]" : "[all]");
	for (size_t i = 0; i < l->n_keys; i++) {
		value = json_object_get(key, l->keys[i]);
		text = value ? print_scalar(value) : NULL;
		plumb_text_table_cell(l->table, "%s", text ?: other && !i ? "[other]" : "");
		free(text);
	}
}

static void add_time(struct plumb_text_table *g, uint64_t ns, enum plumb_unit unit, bool weak)
{
	char text[32];

	plumb_text_table_cell(g, "%s%s", plumb_format_time(ns, unit, text, sizeof(text)),
			      weak ? "?" : "");
}

static void add_measure(struct layout *l, const struct merged_row *row, int measure)
{
	const struct reading *r = l->result->reading;
	const struct plumb_options *o = &r->options->shared;
	const struct plumb_dist *d = &row->measures[measure].dist;
	const enum plumb_unit unit = print_unit(r, measure);

	if (!merge_has(&r->merge, measure))
		return;
	add_time(l->table, row->measures[measure].sum, unit, false);
	for (size_t i = 0; i < o->n_percentiles; i++)
		add_time(l->table, plumb_percentile(d, o->percentiles[i].p), unit,
			 plumb_percentile_is_weak(row->count, o->percentiles[i].p));
	add_time(l->table, d->max, unit, false);
}

static void add_row(struct layout *l, const struct merged_row *row, const json_t *key)
{
	const struct merge *m = &l->result->reading->merge;

	add_key_cells(l, key);
	plumb_text_table_cell(l->table, "%" PRIu64, row->count);
	if (l->errors && row->errors_unknown)
		plumb_text_table_cell(l->table, "-");
	else if (l->errors)
		plumb_text_table_cell(l->table, "%" PRIu64, row->errors);
	add_measure(l, row, FIRST);
	if (!merge_has(m, SECOND))
		return;
	/* A line of its own, below. */
	plumb_text_table_cell(l->table, "  %s", m->second);
	for (size_t i = 1; i < (l->n_keys ?: 1) + 1 + l->errors; i++)
		plumb_text_table_cell(l->table, "%s", "");
	add_measure(l, row, SECOND);
}

static void print_rows(const struct result *r)
{
	struct layout l = {.result = r};

	if (!r->n) {
		puts(r->reports    ? "(no calls)"
		     : r->has_data ? "(no report starts here)"
				   : "(no data)");
		return;
	}
	lay_out(&l);
	for (size_t i = 0; i < shown(r); i++)
		add_row(&l, r->rows[i], l.of[i]);
	plumb_text_table_print(l.table, stdout);
	plumb_text_table_free(l.table);
	for (size_t i = 0; i < shown(r); i++)
		json_decref(l.of[i]);
	free(l.of);
}

static uint64_t count_above(const struct plumb_dist *d, uint64_t value)
{
	uint64_t above = 0;

	for (size_t i = 0; i < d->n; i++)
		if (plumb_bucket_lowest(d->buckets[i].index, d->precision) > value)
			above += d->buckets[i].count;
	return above;
}

static void print_ladder(const struct plumb_dist *d, enum plumb_unit unit)
{
	static const struct {
		const char *name;
		uint64_t p;
	} steps[] = {{"50", 50000000},    {"75", 75000000},     {"90", 90000000},
		     {"95", 95000000},    {"99", 99000000},     {"99.9", 99900000},
		     {"99.99", 99990000}, {"99.999", 99999000}, {"100", 100000000}};
	static const char *const headings[] = {">PERCENTILE", ">AT MOST", ">CALLS ABOVE"};
	struct plumb_text_table *g = plumb_text_table_new(headings, 3);
	uint64_t count = plumb_dist_count(d), value;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		value = plumb_percentile(d, steps[i].p);
		plumb_text_table_cell(g, "%s", steps[i].name);
		add_time(g, value, unit, plumb_percentile_is_weak(count, steps[i].p));
		plumb_text_table_cell(g, "%" PRIu64, count_above(d, value));
	}
	plumb_text_table_print(g, stdout);
	plumb_text_table_free(g);
}

static void print_details(const struct result *r)
{
	const struct options *o = r->reading->options;
	const enum plumb_unit unit = print_unit(r->reading, FIRST);
	char *key;

	if (!merge_has(&r->reading->merge, FIRST) || !(o->shared.histogram || o->ladder))
		return;
	for (size_t i = 0; i < shown(r); i++) {
		const struct plumb_row row = {.dist = r->rows[i]->measures[FIRST].dist};

		key = print_key(r->rows[i]->key);
		printf("\n%s: %" PRIu64 " calls\n", key, r->rows[i]->count);
		if (o->shared.histogram)
			plumb_report_histogram(&row, unit, stdout);
		if (o->ladder)
			print_ladder(&row.dist, unit);
		free(key);
	}
}

static void print_hosts(const struct hosts *h)
{
	size_t losers = 0;

	for (size_t i = 0; i < h->n; i++) {
		const struct run_host *sum = &h->all[i].sum;
		char *name;

		if (!sum->lost || losers++ >= MOST_LOSERS)
			continue;
		name = plumb_escaped_text(h->all[i].name);
		printf("  host %s: %" PRIu64 " lost, %" PRIu64 " recorded\n", name, sum->lost,
		       sum->recorded);
		free(name);
	}
	if (losers > MOST_LOSERS)
		printf("  %zu more hosts lost calls\n", losers - MOST_LOSERS);
}

static void print_ledger(const struct reading *r)
{
	const struct ledger *l = &r->hosts.sum.ledger;
	const int64_t unaccounted = r->has_stages ? 0 : reading_unaccounted(r);

	printf("ledger: %" PRIu64 " recorded, %" PRIu64 " lost%s\n", l->n[LEDGER_RECORDED],
	       l->n[LEDGER_LOST], l->unknown[LEDGER_LOST] ? ", misses unknown on a kernel" : "");
	if (r->hosts.sum.headless)
		printf("  " MANY ": the first reports are missing, the ledger has their calls\n",
		       N(r->hosts.sum.headless, "run"));
	if (unaccounted > 0)
		printf("  %" PRId64 " of these are in no report that was merged\n", unaccounted);
	if (unaccounted < 0)
		printf("  the rows have %" PRId64 " more: %s were counted twice\n", -unaccounted,
		       r->merge.again ? "rows with the same key in a report, or reports,"
				      : "reports");
	if (l->n[LEDGER_IN_FLIGHT])
		printf("  %" PRIu64 " had not ended\n", l->n[LEDGER_IN_FLIGHT]);
	if (l->n[LEDGER_POOLED] || r->merge.pooled)
		printf("  %" PRIu64 " pooled under [other] by the tools, %" PRIu64
		       " here: raise --max-keys\n",
		       l->n[LEDGER_POOLED], r->merge.pooled);
}

static void print_merged(const struct reading *r)
{
	char from[40], to[40], text[400];

	snprintf(text, sizeof(text), "merged: " MANY " of %s, " MANY ", " MANY ", %s to %s",
		 N(r->merge.reports, "report"), r->tool, N(r->hosts.n, "host"),
		 N(r->hosts.sum.runs, "run"), print_time(r->from, from, sizeof(from)),
		 print_time(r->to, to, sizeof(to)));
	putchar('\n');
	plumb_print_wrapped(text, stdout);
	if (r->left_out)
		printf("  left out: " MANY " that cannot be merged\n", N(r->left_out, "line"));
	if (r->passed_over)
		printf("  passed over: " MANY " of other tools\n", N(r->passed_over, "report"));
	if (r->repeated)
		printf("  passed over: " MANY " read before, as dumps share intervals\n",
		       N(r->repeated, "report"));
	if (r->moved)
		printf("  later: " MANY " of runs whose clock was set back, which go on where they "
		       "were\n",
		       N(r->moved, "report"));
	if (r->records)
		printf("  passed over: " MANY " of single calls\n", N(r->records, "record"));
	if (r->merge.corrected)
		printf("  corrected: " MANY " of values, which minimum and maximum rule out\n",
		       N(r->merge.corrected, "sum"));
	if (r->merge.some & r->merge.lacked & 1 << SECOND)
		printf("  left out: %s, which some of the reports do not have\n", r->merge.second);
}

static void print_footer(const struct reading *r)
{
	const struct ledger *l = &r->hosts.sum.ledger;
	const uint64_t recorded = l->n[LEDGER_RECORDED];
	const double error = 100.0 / (1 << r->merge.precision);
	char text[400];

	print_merged(r);
	if (l->n[LEDGER_LOST])
		snprintf(text, sizeof(text),
			 "percentiles: of a sample, %" PRIu64 " of %" PRIu64 " calls; at most "
			 "%.2g %% high; ?: too few calls",
			 recorded, ledger_sum(recorded, l->n[LEDGER_LOST]), error);
	else
		snprintf(text, sizeof(text),
			 "percentiles: never low, at most %.2g %% high; ?: too few calls", error);
	plumb_print_wrapped(text, stdout);
	if (r->merge.finest != r->merge.precision)
		printf("  reports have different precision, %u to %u bits: merged at %u\n",
		       r->merge.precision, r->merge.finest, r->merge.precision);
	print_ledger(r);
	print_hosts(&r->hosts);
}

int print_table(const struct result *r)
{
	char text[40];

	errno = 0;
	if (r->reading->options->every)
		printf("%s%s\n", r->seq > 1 ? "\n" : "", print_time(r->start, text, sizeof(text)));
	print_rows(r);
	print_details(r);
	if (r->final)
		print_footer(r->reading);
	return plumb_flush_stdout();
}
