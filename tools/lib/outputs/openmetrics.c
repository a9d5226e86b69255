/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/clock.h>
#include <plumb/core/json.h>
#include <plumb/outputs/openmetrics.h>
#include <plumb/outputs/series.h>

#define OTHER "[other]"

/* What all series are written with. */
struct writing {
	FILE *out;
	const json_t *report;
	char prefix[128]; /* "plumb_syscall_latency" */
	const char *run;
	const char *tool;
	json_t *all;   /* plumb_series() */
	char **labels; /* of each */
};

/* --- text --- */

static void print_escaped(const char *text, FILE *out)
{
	for (; *text; text++)
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '\\' || *text == '"')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
}

/* Names of labels are letters, digits and underscores; "le" and "run" have a meaning here. */
static void print_name(const char *name, FILE *out)
{
	if (!strcmp(name, "le") || !strcmp(name, "run") || isdigit((unsigned char)*name))
		fputs("key_", out);
	for (; *name; name++)
		fputc(isalnum((unsigned char)*name) ? *name : '_', out);
}

static void print_label(const char *name, const json_t *value, FILE *out)
{
	const char *string = json_string_value(value);
	char *text = NULL;

	print_name(name, out);
	fputs("=\"", out);
	if (string && !strcmp(string, OTHER))
		print_escaped("\\x5bother]", out);
	else if (string)
		print_escaped(string, out);
	else if (value && !json_is_null(value))
		print_escaped((text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY)) ?: "",
			      out);
	free(text);
	fputc('"', out);
}

static void print_text_label(const char *name, const char *value, FILE *out)
{
	fprintf(out, "%s=\"", name);
	print_escaped(value ?: "", out);
	fputc('"', out);
}

/* NS as seconds, exactly. */
static void print_seconds(uint64_t ns, FILE *out)
{
	char text[32];
	size_t n =
		snprintf(text, sizeof(text), "%llu.%09llu", (unsigned long long)(ns / PLUMB_SECOND),
			 (unsigned long long)(ns % PLUMB_SECOND));

	while (text[n - 1] == '0')
		n--;
	if (text[n - 1] == '.')
		n--;
	fprintf(out, "%.*s", (int)n, text);
}

static void print_value(uint64_t value, bool bytes, FILE *out)
{
	if (bytes)
		fprintf(out, "%llu", (unsigned long long)value);
	else
		print_seconds(value, out);
}

static void print_head(const struct writing *w, const char *name, const char *type,
		       const char *help)
{
	fprintf(w->out, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name, type);
}

/* --- rows --- */

static bool is_other(const json_t *key)
{
	return json_is_true(json_object_get(key, "other"));
}

/* The labels of KEY; those of [other] have the names that SAMPLE has, another key. */
static char *labels_of(const json_t *key, const json_t *sample, const char *run)
{
	char *text = NULL;
	size_t size;
	const char *name;
	json_t *value;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	if (run)
		print_text_label("run", run, out);
	json_object_foreach((json_t *)(is_other(key) ? sample : key), name, value)
	{
		if (ftell(out) > 0)
			fputc(',', out);
		if (!is_other(key)) {
			print_label(name, value, out);
		} else {
			print_name(name, out);
			fputs("=\"" OTHER "\"", out);
		}
	}
	fclose(out);
	return text;
}

static const json_t *key_of(const struct writing *w, size_t i)
{
	return json_object_get(json_array_get(w->all, i), "key");
}

static const json_t *rows_of(const struct writing *w, size_t i)
{
	return json_object_get(json_array_get(w->all, i), "rows");
}

static void make_labels(struct writing *w)
{
	const size_t n = json_array_size(w->all);
	size_t sample = 0;

	while (sample < n && is_other(key_of(w, sample)))
		sample++;
	w->labels = calloc(n + 1, sizeof(*w->labels));
	if (!w->labels)
		abort();
	for (size_t i = 0; i < n; i++)
		w->labels[i] =
			labels_of(key_of(w, i), sample < n ? key_of(w, sample) : NULL, w->run);
}

/* --- histograms --- */

/* Adds the buckets of HIST to CELLS, one for each bound, and one for what is above all. */
static void add_buckets(const json_t *hist, const struct plumb_ladder *l, uint64_t *cells)
{
	json_t *bucket;
	size_t i;

	json_array_foreach(hist, i, bucket)
		cells[plumb_ladder_index(l, json_integer_value(json_array_get(bucket, 1)))] +=
		json_integer_value(json_array_get(bucket, 2));
}

static void print_histogram(const struct writing *w, const char *name, const char *labels,
			    const struct plumb_ladder *l, const uint64_t *cells, uint64_t sum,
			    bool bytes)
{
	const char *comma = *labels ? "," : "";
	uint64_t below = 0;

	for (size_t i = 0; i <= l->n; i++) {
		below += cells[i];
		fprintf(w->out, "%s_bucket{%s%sle=\"", name, labels, comma);
		/* As Go prints numbers: node_exporter's bounds are then the same text. */
		if (i == l->n)
			fputs("+Inf", w->out);
		else
			fprintf(w->out, "%.13g", l->bounds[i] / (bytes ? 1 : 1e9));
		fprintf(w->out, "\"} %llu\n", (unsigned long long)below);
	}
	fprintf(w->out, "%s_sum{%s} ", name, labels);
	print_value(sum, bytes, w->out);
	fprintf(w->out, "\n%s_count{%s} %llu\n", name, labels, (unsigned long long)below);
}

/* The histograms of all rows; SECOND: those of that member. */
static void write_histograms(const struct writing *w, const struct plumb_ladder *l,
			     const char *second, bool bytes)
{
	uint64_t cells[PLUMB_MAX_BOUNDS + 1], sum;
	char name[256];
	json_t *row;
	size_t n;

	snprintf(name, sizeof(name), "%s%s%s_%s", w->prefix, second ? "_" : "", second ?: "",
		 bytes ? "bytes" : "seconds");
	print_head(w, name, "histogram",
		   bytes ? "Sizes, from the tool's start"
			 : "Times of calls, from the tool's start");
	for (size_t i = 0; i < json_array_size(w->all); i++) {
		memset(cells, 0, sizeof(cells));
		sum = 0;
		json_array_foreach(rows_of(w, i), n, row)
		{
			const json_t *from = second ? json_object_get(row, second) : row;

			add_buckets(json_object_get(from, "hist"), l, cells);
			sum += json_integer_value(json_object_get(from, "sum"));
		}
		print_histogram(w, name, w->labels[i], l, cells, sum, bytes);
	}
}

static void write_counter(const struct writing *w, const char *member, const char *metric,
			  const char *help)
{
	bool headed = false;
	json_int_t sum;
	char name[256];

	snprintf(name, sizeof(name), "%s_%s_total", w->prefix, metric);
	for (size_t i = 0; i < json_array_size(w->all); i++) {
		if ((sum = plumb_series_sum(rows_of(w, i), member)) < 0)
			continue;
		if (!headed)
			print_head(w, name, "counter", help);
		headed = true;
		fprintf(w->out, "%s{%s} %lld\n", name, w->labels[i], (long long)sum);
	}
}

static void write_rows(const struct writing *w, const struct plumb_ladder *times,
		       const struct plumb_ladder *sizes)
{
	const bool bytes = plumb_series_are_sizes(w->report);
	const json_t *row = json_array_get(rows_of(w, 0), 0);
	const char *second = plumb_series_second(row);
	struct plumb_series_counter c;

	if (!row)
		return;
	if (json_object_get(row, "hist"))
		write_histograms(w, bytes ? sizes : times, NULL, bytes);
	else
		write_counter(w, "count", "calls", "Calls");
	if (second)
		write_histograms(w, times, second, false);
	write_counter(w, "errors", "errors", "Calls that failed");
	for (size_t i = 0; plumb_series_counter(w->report, i, &c); i++)
		write_counter(w, c.member, c.metric, c.help);
}

/* --- the run --- */

/* Begins a line of a metric of the run: NAME{run="...",tool="..." */
static void begin_line(const struct writing *w, const char *name)
{
	fprintf(w->out, "%s{", name);
	if (w->run) {
		print_text_label("run", w->run, w->out);
		fputc(',', w->out);
	}
	print_text_label("tool", w->tool, w->out);
}

static void add_label(const struct writing *w, const char *name, const json_t *value)
{
	fputc(',', w->out);
	print_text_label(name, json_string_value(value), w->out);
}

static void write_seconds(const struct writing *w, const char *name, const char *help, uint64_t ns)
{
	print_head(w, name, "gauge", help);
	begin_line(w, name);
	fputs("} ", w->out);
	print_seconds(ns, w->out);
	fputc('\n', w->out);
}

static void write_ledger(const struct writing *w)
{
	const json_t *ledger = json_object_get(w->report, "ledger"), *value;
	const struct plumb_series_count *c = plumb_series_counts;
	char name[64];

	for (; c->member; c++) {
		value = plumb_series_count(ledger, c);
		if (!json_is_integer(value))
			continue;
		snprintf(name, sizeof(name), "plumb_%s%s", c->metric, c->falls ? "" : "_total");
		print_head(w, name, c->falls ? "gauge" : "counter", c->help);
		begin_line(w, name);
		fprintf(w->out, "} %lld\n", (long long)json_integer_value(value));
	}
}

static void write_infos(const struct writing *w)
{
	const json_t *m = json_object_get(w->report, "mechanism");
	const uint64_t start = plumb_json_ns(json_object_get(w->report, "start"));

	print_head(w, "plumb_build_info", "gauge", "The tool's version");
	begin_line(w, "plumb_build_info");
	add_label(w, "version", json_object_get(w->report, "version"));
	add_label(w, "arch", json_object_get(w->report, "arch"));
	fputs("} 1\n", w->out);
	if (m) {
		print_head(w, "plumb_mechanism_info", "gauge", "How the tool gets its events");
		begin_line(w, "plumb_mechanism_info");
		add_label(w, "mechanism", json_object_get(m, "name"));
		add_label(w, "stability", json_object_get(m, "stability"));
		fputs("} 1\n", w->out);
	}
	if (start)
		write_seconds(w, "plumb_start_time_seconds",
			      "When the tool began to count, since 1970", start);
}

/* What tracing adds to a call, as calibrated. */
static void write_overhead(const struct writing *w)
{
	static const char *const calls[] = {"traced", "filtered"};
	const json_t *overhead = json_object_get(w->report, "overhead_ns"), *ns;
	const char name[] = "plumb_added_seconds";
	bool headed = false;

	for (size_t i = 0; i < 2; i++) {
		ns = json_object_get(overhead, calls[i]);
		if (!json_is_integer(ns) || json_integer_value(ns) < 0)
			continue;
		if (!headed)
			print_head(w, name, "gauge", "What tracing adds to a call");
		headed = true;
		begin_line(w, name);
		fprintf(w->out, ",call=\"%s\"} ", calls[i]);
		print_seconds(json_integer_value(ns), w->out);
		fputc('\n', w->out);
	}
}

/* The array "programs": what the kernel's run-time statistics say. */
static void write_programs(const struct writing *w, const char *name, const char *member,
			   const char *help, bool time)
{
	json_t *programs = json_object_get(w->report, "programs"), *p;
	uint64_t value;
	size_t i;

	if (!json_array_size(programs))
		return;
	print_head(w, name, "counter", help);
	json_array_foreach(programs, i, p)
	{
		value = json_integer_value(json_object_get(p, member));
		begin_line(w, name);
		add_label(w, "program", json_object_get(p, "name"));
		fputs("} ", w->out);
		print_value(value, !time, w->out);
		fputc('\n', w->out);
	}
}

int plumb_openmetrics_write(const json_t *report, const struct plumb_ladder *times,
			    const struct plumb_ladder *sizes, const char *run, FILE *out)
{
	struct writing w = {.out = out, .report = report, .run = run, .all = plumb_series(report)};
	const json_t *oldest = json_object_get(report, "in_flight_oldest_ns");
	char name[96];

	w.tool = json_string_value(json_object_get(report, "tool"));
	plumb_series_name(report, name, sizeof(name));
	snprintf(w.prefix, sizeof(w.prefix), "plumb_%s", name);
	make_labels(&w);
	write_rows(&w, times, sizes);
	write_ledger(&w);
	if (json_is_integer(oldest)) /* the tool knows it */
		write_seconds(&w, "plumb_in_flight_oldest_seconds",
			      "How long the oldest call that has not ended has taken so far",
			      json_integer_value(oldest));
	write_infos(&w);
	write_overhead(&w);
	write_programs(&w, "plumb_program_run_seconds_total", "run_ns",
		       "Time that a BPF program ran", true);
	write_programs(&w, "plumb_program_runs_total", "runs", "Runs of a BPF program", false);
	for (size_t i = 0; i < json_array_size(w.all); i++)
		free(w.labels[i]);
	free(w.labels);
	json_decref(w.all);
	return ferror(out) ? -(errno ?: EIO) : 0;
}
