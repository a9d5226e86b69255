/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "printing/print.h"
#include "reading/memory.h"
#include <errno.h>
#include <string.h>
#include <time.h>
#include <plumb/core/dist-json.h>
#include <plumb/core/json.h>

char *print_scalar(const json_t *value)
{
	return get(json_is_string(value) ? strdup(json_string_value(value))
					 : json_dumps(value, JSON_ENCODE_ANY));
}

char *print_key(const char *key)
{
	json_t *object = json_loads(key, 0, NULL), *value;
	char *text = NULL, *more, *scalar;
	const char *name;
	size_t size;
	FILE *out = get(open_memstream(&text, &size));

	json_object_foreach(object, name, value)
	{
		scalar = print_scalar(value);
		fprintf(out, "%s%s=%s", ftell(out) ? " " : "", name, scalar);
		free(scalar);
	}
	fclose(out);
	more = json_is_true(json_object_get(object, "other")) ? strdup("[other]")
	       : *text                                        ? plumb_escaped_text(text)
							      : strdup("[all]");
	json_decref(object);
	free(text);
	return get(more);
}

enum plumb_unit print_unit(const struct reading *r, int measure)
{
	return measure == FIRST && reading_is_of_sizes(r) ? PLUMB_BYTES : r->options->shared.unit;
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

static json_t *row_json(const struct reading *r, const struct merged_row *row)
{
	const struct plumb_options *o = &r->options->shared;
	const struct merged *first = &row->measures[FIRST], *second = &row->measures[SECOND];
	json_t *j = json_object(), *of;

	set(j, "key", json_loads(row->key, 0, NULL));
	set(j, "count", plumb_json_u64(row->count));
	set(j, "errors", row->errors_unknown ? json_null() : plumb_json_u64(row->errors));
	if (merge_has(&r->merge, FIRST))
		plumb_measure_json(o, &first->dist, first->sum, j);
	if (merge_has(&r->merge, SECOND)) {
		of = json_object();
		plumb_measure_json(o, &second->dist, second->sum, of);
		set(j, r->merge.second, of);
	}
	return j;
}

static json_t *hosts_json(const struct hosts *h)
{
	json_t *all = json_array(), *j;

	for (size_t i = 0; i < h->n; i++) {
		const struct run_host *sum = &h->all[i].sum;

		j = json_object();
		set(j, "host", plumb_json_text(h->all[i].name));
		set(j, "reports", plumb_json_u64(sum->reports));
		set(j, "recorded", plumb_json_u64(sum->recorded));
		set(j, "lost", sum->lost_unknown ? json_null() : plumb_json_u64(sum->lost));
		json_array_append_new(all, j);
	}
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
	struct ledger ledger = of->hosts.sum.ledger;
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
	set(j, "corrected", plumb_json_u64(of->merge.corrected));
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

static int print_rows(const void *of, FILE *out)
{
	const struct result *r = of;
	json_t *row;
	int err = 0;

	fputc('[', out);
	for (size_t i = 0; !err && i < r->n; i++) {
		if (i)
			fputc(',', out);
		row = row_json(r->reading, r->rows[i]);
		err = json_dumpf(row, out, JSON_COMPACT);
		json_decref(row);
	}
	fputc(']', out);
	return err;
}

/* Row by row: as one object of JSON, they would take far more memory than the result. */
int print_json(const struct result *r)
{
	errno = 0;
	plumb_json_print_rows(members(r), print_rows, r, stdout);
	return plumb_flush_stdout();
}
