/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "printing/print.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <plumb/core/dist-json.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>

char *print_key(const char *key)
{
	json_t *object = json_loads(key, 0, NULL), *value;
	char *text = NULL, *more, *scalar;
	const char *name;
	size_t size;
	FILE *out;

	if (json_is_true(json_object_get(object, "other"))) {
		json_decref(object);
		return strdup("[other]");
	}
	out = open_memstream(&text, &size);
	json_object_foreach(object, name, value)
	{
		scalar = json_is_string(value) ? strdup(json_string_value(value))
					       : json_dumps(value, JSON_ENCODE_ANY);
		fprintf(out, "%s%s=%s", ftell(out) ? " " : "", name, scalar);
		free(scalar);
	}
	fclose(out);
	json_decref(object);
	more = *text ? plumb_escaped_text(text) : strdup("[all]");
	free(text);
	return more;
}

const char *print_time(uint64_t ns, char *text, size_t size)
{
	time_t seconds = ns / 1000000000;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return text;
}

static void set(json_t *object, const char *name, json_t *value)
{
	json_object_set_new(object, name, value);
}

static json_t *time_json(uint64_t ns)
{
	const struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	return plumb_json_time(&t);
}

static void add_measure(const struct reading *r, const struct merged *of, uint64_t count, json_t *j)
{
	struct plumb_dist d = merge_dist(&r->merge, of);
	json_t *percentiles = json_object(), *weak = json_array();
	const struct options *o = r->options;

	set(j, "sum", plumb_json_u64(of->sum));
	set(j, "min", plumb_json_u64(of->min));
	set(j, "max", plumb_json_u64(of->max));
	for (size_t i = 0; i < o->n_percentiles; i++) {
		set(percentiles, o->percentiles[i].name,
		    plumb_json_u64(plumb_percentile(&d, o->percentiles[i].p)));
		if (plumb_percentile_is_weak(count, o->percentiles[i].p))
			json_array_append_new(weak, json_string(o->percentiles[i].name));
	}
	set(j, "percentiles", percentiles);
	set(j, "low_samples", weak);
	set(j, "hist", plumb_dist_json(&d));
	free(d.buckets);
}

static json_t *row_json(const struct reading *r, const struct merged_row *row)
{
	json_t *j = json_object(), *second;

	set(j, "key", json_loads(row->key, 0, NULL));
	set(j, "count", plumb_json_u64(row->count));
	set(j, "errors", row->errors_unknown ? json_null() : plumb_json_u64(row->errors));
	if (row->measures[FIRST].is_there)
		add_measure(r, &row->measures[FIRST], row->count, j);
	if (row->measures[SECOND].is_there) {
		second = json_object();
		add_measure(r, &row->measures[SECOND], row->count, second);
		set(j, r->merge.second, second);
	}
	return j;
}

static json_t *hosts_json(const struct hosts *h)
{
	struct run_host *sums = hosts_sums(h);
	json_t *all = json_array(), *j;

	for (size_t i = 0; i < h->n; i++) {
		j = json_object();
		set(j, "host", plumb_json_text(h->all[i].name));
		set(j, "reports", plumb_json_u64(sums[i].reports));
		set(j, "recorded", plumb_json_u64(sums[i].recorded));
		set(j, "lost", sums[i].lost_unknown ? json_null() : plumb_json_u64(sums[i].lost));
		json_array_append_new(all, j);
	}
	free(sums);
	return all;
}

static json_t *sources_json(const struct options *o)
{
	json_t *all = json_array();

	for (size_t i = 0; i < o->n_files; i++)
		json_array_append_new(all, plumb_json_text(o->files[i]));
	return all;
}

/* The members but for the rows, in their order. */
static json_t *members(const struct result *r)
{
	const struct reading *of = r->reading;
	struct ledger ledger = hosts_ledger(&of->hosts);
	json_t *j = plumb_json_new("hist-merge");

	ledger.n[LEDGER_POOLED] = ledger_sum(ledger.n[LEDGER_POOLED], of->merge.pooled);
	set(j, "of", json_string(of->tool));
	set(j, "start", time_json(r->start));
	set(j, "end", time_json(r->end));
	set(j, "seq", plumb_json_u64(r->seq));
	set(j, "final", json_boolean(r->final));
	set(j, "precision_bits", json_integer(of->merge.precision));
	set(j, "unit", json_string(reading_is_of_sizes(of) ? "bytes" : "ns"));
	set(j, "rows", json_null());
	set(j, "ledger", ledger_json(&ledger));
	set(j, "hosts", hosts_json(&of->hosts));
	set(j, "sources", sources_json(of->options));
	set(j, "reports", plumb_json_u64(r->reports));
	set(j, "data", json_boolean(r->has_data));
	set(j, "unaccounted", of->has_stages ? json_null() : json_integer(reading_unaccounted(of)));
	set(j, "coarsened", plumb_json_u64(reading_coarsened(of)));
	set(j, "moved", plumb_json_u64(of->moved));
	set(j, "repeated", plumb_json_u64(of->repeated));
	set(j, "left_out", plumb_json_u64(of->left_out));
	return j;
}

json_t *print_report(const struct result *r)
{
	json_t *j = members(r), *rows = json_array();

	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(rows, row_json(r->reading, r->rows[i]));
	set(j, "rows", rows);
	return j;
}

static int print_rows(const struct result *r)
{
	json_t *row;
	int err = 0;

	putchar('[');
	for (size_t i = 0; !err && i < r->n; i++) {
		if (i)
			putchar(',');
		row = row_json(r->reading, r->rows[i]);
		err = json_dumpf(row, stdout, JSON_COMPACT);
		json_decref(row);
	}
	putchar(']');
	return err;
}

int print_end(void)
{
	int err = fflush(stdout) || ferror(stdout) ? -(errno ?: EIO) : 0;

	return err && err != -EPIPE
		       ? plumb_error(-err, "cannot write to standard output: %s", strerror(-err))
		       : err;
}

/* Row by row: as one object of JSON, they would take far more memory than the result. */
int print_json(const struct result *r)
{
	json_t *j = members(r), *value;
	const char *name, *before = "{";
	int err = 0;

	errno = 0;
	json_object_foreach(j, name, value)
	{
		printf("%s\"%s\":", before, name);
		before = ",";
		err = !strcmp(name, "rows")
			      ? print_rows(r)
			      : json_dumpf(value, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
		if (err)
			break;
	}
	json_decref(j);
	puts("}");
	return print_end();
}
