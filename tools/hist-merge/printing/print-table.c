/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* print's tables, histograms and the footer. */
#include "printing/print.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>
#include <plumb/terminal/text-table.h>

#define MOST_COLUMNS 64
#define MOST_LOSERS  20

/* The names of keys in rows, in the order of the first row that has them. */
struct keys {
	const char *names[MOST_COLUMNS];
	bool number[MOST_COLUMNS];
	size_t n;
	json_t **of; /* the rows', which hold the names */
};

static void add_names(struct keys *k, json_t *key)
{
	const char *name;
	json_t *value;
	size_t i;

	json_object_foreach(key, name, value)
	{
		for (i = 0; i < k->n && strcmp(k->names[i], name) != 0; i++)
			;
		if (!strcmp(name, "other") || i == MOST_COLUMNS - OPTIONS_PERCENTILES - 8)
			continue;
		if (i == k->n) {
			k->names[k->n] = name;
			k->number[k->n++] = json_is_integer(value);
		}
	}
}

static size_t shown(const struct result *r)
{
	uint64_t top = r->reading->options->top;

	return top && top < r->n ? top : r->n;
}

static void find_keys(const struct result *r, struct keys *k)
{
	*k = (struct keys){.of = calloc(r->n + 1, sizeof(json_t *))};
	if (!k->of)
		abort();
	for (size_t i = 0; i < shown(r); i++) {
		k->of[i] = json_loads(r->rows[i]->key, 0, NULL);
		add_names(k, k->of[i]);
	}
}

static void add_key_cells(struct plumb_text_table *g, const struct keys *k, size_t row)
{
	bool other = json_is_true(json_object_get(k->of[row], "other"));
	json_t *value;
	char *text;

	if (!k->n)
		plumb_text_table_cell(g, "%s", other ? "[other]" : "[all]");
	for (size_t i = 0; i < k->n; i++) {
		value = json_object_get(k->of[row], k->names[i]);
		text = json_is_string(value) ? strdup(json_string_value(value))
		       : value               ? json_dumps(value, JSON_ENCODE_ANY)
					     : strdup(other && !i ? "[other]" : "");
		plumb_text_table_cell(g, "%s", text);
		free(text);
	}
}

static void add_time(struct plumb_text_table *g, const struct result *r, int measure, uint64_t ns,
		     bool weak)
{
	bool sizes = measure == FIRST && reading_is_of_sizes(r->reading);
	char text[32];

	plumb_format_time(ns, sizes ? PLUMB_BYTES : r->reading->options->unit, text, sizeof(text));
	plumb_text_table_cell(g, "%s%s", text, weak ? "?" : "");
}

static void add_measure(struct plumb_text_table *g, const struct result *r,
			const struct merged_row *row, int measure)
{
	const struct options *o = r->reading->options;
	const struct merged *of = &row->measures[measure];
	struct plumb_dist d = merge_dist(&r->reading->merge, of);

	for (size_t i = 0; i < o->n_percentiles; i++)
		add_time(g, r, measure, plumb_percentile(&d, o->percentiles[i].p),
			 plumb_percentile_is_weak(row->count, o->percentiles[i].p));
	add_time(g, r, measure, of->max, false);
	free(d.buckets);
}

/* What the columns of the table are. */
struct columns {
	char headings[MOST_COLUMNS][40];
	const char *list[MOST_COLUMNS];
	size_t n;
	bool errors, times, second;
};

static void add_heading(struct columns *c, bool right, const char *name)
{
	char *text = c->headings[c->n];

	snprintf(text, sizeof(c->headings[0]), "%s%s", right ? ">" : "", name);
	for (; *text; text++)
		if (*text >= 'a' && *text <= 'z')
			*text -= 'a' - 'A';
	c->list[c->n] = c->headings[c->n];
	c->n++;
}

static void lay_out(const struct result *r, const struct keys *k, struct columns *c)
{
	const struct options *o = r->reading->options;
	char name[24];

	for (size_t i = 0; i < r->n; i++) {
		c->errors |= r->rows[i]->errors > 0;
		c->times |= r->rows[i]->measures[FIRST].is_there;
		c->second |= r->rows[i]->measures[SECOND].is_there;
	}
	if (!k->n)
		add_heading(c, false, "key");
	for (size_t i = 0; i < k->n; i++)
		add_heading(c, k->number[i], k->names[i]);
	add_heading(c, true, "calls");
	if (c->errors)
		add_heading(c, true, "errors");
	for (size_t i = 0; c->times && i < o->n_percentiles; i++) {
		snprintf(name, sizeof(name), "p%s", o->percentiles[i].name);
		add_heading(c, true, name);
	}
	if (c->times)
		add_heading(c, true, "max");
}

/* The line of a row's second measure, below it. */
static void add_second(struct plumb_text_table *g, const struct result *r, const struct keys *k,
		       const struct columns *c, const struct merged_row *row)
{
	plumb_text_table_cell(g, "  %s", r->reading->merge.second);
	for (size_t i = 1; i < (k->n ?: 1) + 1 + c->errors; i++)
		plumb_text_table_cell(g, "%s", "");
	add_measure(g, r, row, SECOND);
}

static void print_rows(const struct result *r)
{
	struct columns c = {.n = 0};
	struct plumb_text_table *g;
	struct keys k;

	if (!r->n) {
		puts(r->reports    ? "(no calls)"
		     : r->has_data ? "(no report starts here)"
				   : "(no data)");
		return;
	}
	find_keys(r, &k);
	lay_out(r, &k, &c);
	g = plumb_text_table_new(c.list, c.n);
	for (size_t i = 0; i < shown(r); i++) {
		add_key_cells(g, &k, i);
		plumb_text_table_cell(g, "%" PRIu64, r->rows[i]->count);
		if (c.errors && r->rows[i]->errors_unknown)
			plumb_text_table_cell(g, "-");
		else if (c.errors)
			plumb_text_table_cell(g, "%" PRIu64, r->rows[i]->errors);
		if (c.times)
			add_measure(g, r, r->rows[i], FIRST);
		if (c.second)
			add_second(g, r, &k, &c, r->rows[i]);
	}
	plumb_text_table_print(g, stdout);
	plumb_text_table_free(g);
	for (size_t i = 0; i < shown(r); i++)
		json_decref(k.of[i]);
	free(k.of);
}

static enum plumb_unit unit_of(const struct result *r)
{
	return reading_is_of_sizes(r->reading) ? PLUMB_BYTES : r->reading->options->unit;
}

static uint64_t count_above(const struct plumb_dist *d, uint64_t value)
{
	uint64_t above = 0;

	for (size_t i = 0; i < d->n; i++)
		if (plumb_bucket_lowest(d->buckets[i].index, d->precision) > value)
			above += d->buckets[i].count;
	return above;
}

static void print_ladder(const struct result *r, const struct plumb_dist *d)
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
	char text[32];

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		value = plumb_percentile(d, steps[i].p);
		plumb_text_table_cell(g, "%s", steps[i].name);
		plumb_format_time(value, unit_of(r), text, sizeof(text));
		plumb_text_table_cell(g, "%s%s", text,
				      plumb_percentile_is_weak(count, steps[i].p) ? "?" : "");
		plumb_text_table_cell(g, "%" PRIu64, count_above(d, value));
	}
	plumb_text_table_print(g, stdout);
	plumb_text_table_free(g);
}

static void print_details(const struct result *r)
{
	const struct options *o = r->reading->options;
	struct plumb_row row = {.slot = 1};
	char *key;

	for (size_t i = 0; i < shown(r) && (o->histogram || o->ladder); i++) {
		if (!r->rows[i]->measures[FIRST].is_there)
			continue;
		row.dist = merge_dist(&r->reading->merge, &r->rows[i]->measures[FIRST]);
		key = print_key(r->rows[i]->key);
		printf("\n%s: %" PRIu64 " calls\n", key, r->rows[i]->count);
		if (o->histogram)
			plumb_report_histogram(&row, unit_of(r), stdout);
		if (o->ladder)
			print_ladder(r, &row.dist);
		free(key);
		free(row.dist.buckets);
	}
}

static void print_hosts(const struct hosts *h)
{
	struct run_host *sums = hosts_sums(h);
	size_t named = 0, more = 0;
	char *name;

	for (size_t i = 0; i < h->n; i++) {
		if (!sums[i].lost)
			continue;
		if (named++ >= MOST_LOSERS) {
			more++;
			continue;
		}
		fputs("  ", stdout);
		name = plumb_escaped_text(h->all[i].name);
		printf("host %s: %" PRIu64 " lost, %" PRIu64 " recorded\n", name, sums[i].lost,
		       sums[i].recorded);
		free(name);
	}
	if (more)
		printf("  %zu more hosts lost calls\n", more);
	free(sums);
}

static void print_ledger(const struct reading *r, const struct ledger *l)
{
	const int64_t unaccounted = r->has_stages ? 0 : reading_unaccounted(r);

	printf("ledger: %" PRIu64 " recorded, %" PRIu64 " lost%s\n", l->n[LEDGER_RECORDED],
	       l->n[LEDGER_LOST], l->unknown[LEDGER_LOST] ? ", misses unknown on a kernel" : "");
	if (r->hosts.headless)
		printf("  %" PRIu64 " run%s: the first reports are missing, the ledger has their "
		       "calls\n",
		       r->hosts.headless, r->hosts.headless == 1 ? "" : "s");
	if (unaccounted > 0)
		printf("  %" PRId64 " of these are in no report that was merged\n", unaccounted);
	if (unaccounted < 0)
		printf("  the rows have %" PRId64 " more: reports were counted twice\n",
		       -unaccounted);
	if (l->n[LEDGER_IN_FLIGHT])
		printf("  %" PRIu64 " had not ended\n", l->n[LEDGER_IN_FLIGHT]);
	if (l->n[LEDGER_POOLED] || r->merge.pooled)
		printf("  %" PRIu64 " pooled under [other] by the tools, %" PRIu64
		       " here: raise --max-keys\n",
		       l->n[LEDGER_POOLED], r->merge.pooled);
}

static void print_footer(const struct reading *r)
{
	struct ledger l = hosts_ledger(&r->hosts);
	char from[40], to[40], text[400];

	snprintf(text, sizeof(text),
		 "merged: %" PRIu64 " report%s of %s, %zu host%s, %" PRIu64 " run%s, %s to %s",
		 r->merge.reports, r->merge.reports == 1 ? "" : "s", r->tool, r->hosts.n,
		 r->hosts.n == 1 ? "" : "s", r->hosts.runs, r->hosts.runs == 1 ? "" : "s",
		 print_time(r->from, from, sizeof(from)), print_time(r->to, to, sizeof(to)));
	putchar('\n');
	plumb_print_wrapped(text, stdout);
	if (r->left_out)
		printf("  left out: %" PRIu64 " line%s that cannot be merged\n", r->left_out,
		       r->left_out == 1 ? "" : "s");
	if (r->passed_over)
		printf("  passed over: %" PRIu64 " report%s of other tools\n", r->passed_over,
		       r->passed_over == 1 ? "" : "s");
	if (r->repeated)
		printf("  passed over: %" PRIu64
		       " report%s read before, as dumps share intervals\n",
		       r->repeated, r->repeated == 1 ? "" : "s");
	if (r->moved)
		printf("  later: %" PRIu64
		       " report%s of runs whose clock was set back, which go on "
		       "where they were\n",
		       r->moved, r->moved == 1 ? "" : "s");
	if (r->records)
		printf("  passed over: %" PRIu64 " record%s of single calls\n", r->records,
		       r->records == 1 ? "" : "s");
	if (l.n[LEDGER_LOST])
		snprintf(text, sizeof(text),
			 "percentiles: of a sample, %" PRIu64 " of %" PRIu64 " calls; at most "
			 "%.2g %% high; ?: too few calls",
			 l.n[LEDGER_RECORDED], ledger_sum(l.n[LEDGER_RECORDED], l.n[LEDGER_LOST]),
			 100.0 / (1 << r->merge.precision));
	else
		snprintf(text, sizeof(text),
			 "percentiles: never low, at most %.2g %% high; ?: too few calls",
			 100.0 / (1 << r->merge.precision));
	plumb_print_wrapped(text, stdout);
	if (r->merge.finest != r->merge.precision)
		printf("  reports have different precision, %u to %u bits: merged at %u\n",
		       r->merge.precision, r->merge.finest, r->merge.precision);
	print_ledger(r, &l);
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
	return print_end();
}
