/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/json.h>
#include <plumb/outputs/otlp.h>
#include <plumb/outputs/series.h>

/* Of AggregationTemporality. */
enum { CUMULATIVE = 2 };

/* What all metrics are made with. */
struct making {
	const json_t *report;
	json_t *all; /* plumb_series() */
	json_t *metrics;
	char prefix[128]; /* "plumb.syscall_latency" */
	json_t *start, *end;
};

/* --- values --- */

/* 64-bit integers are strings in Protobuf's JSON. */
static json_t *integer(uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return json_string(text);
}

static json_t *value_of(const json_t *value)
{
	json_t *j;
	char *text;

	if (json_is_integer(value))
		return json_pack("{s:o}", "intValue", integer(json_integer_value(value)));
	if (json_is_boolean(value))
		return json_pack("{s:O}", "boolValue", value);
	if (json_is_string(value))
		return json_pack("{s:O}", "stringValue", value);
	text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	j = json_pack("{s:s}", "stringValue", text ?: "");
	free(text);
	return j;
}

static void add_attribute(json_t *list, const char *name, json_t *value)
{
	json_array_append_new(list, json_pack("{s:s,s:o}", "key", name, "value", value));
}

/* No name passes as the row [other], also where attributes become labels of .prom files. */
static json_t *key_value_of(const json_t *value)
{
	if (json_is_string(value) && !strcmp(json_string_value(value), "[other]"))
		return json_pack("{s:s}", "stringValue", "\\x5bother]");
	return value_of(value);
}

/* The attributes of a key; those of [other] are the convention for too many of them. */
static json_t *attributes_of(const json_t *key)
{
	json_t *list = json_array(), *value;
	const char *name;

	json_object_foreach((json_t *)key, name, value) add_attribute(
		list, strcmp(name, "other") ? name : "otel.metric.overflow", key_value_of(value));
	return list;
}

static json_t *point_of(const struct making *m, json_t *attributes)
{
	return json_pack("{s:o,s:O,s:O}", "attributes", attributes, "startTimeUnixNano", m->start,
			 "timeUnixNano", m->end);
}

/* --- metrics --- */

/* Adds a metric whose data points are POINTS; KIND: "sum", "gauge", "exponentialHistogram". */
static void add_metric(struct making *m, const char *name, const char *unit, const char *kind,
		       json_t *points)
{
	json_t *data = json_pack("{s:o}", "dataPoints", points);

	if (strcmp(kind, "gauge") != 0)
		json_object_set_new(data, "aggregationTemporality", json_integer(CUMULATIVE));
	if (!strcmp(kind, "sum"))
		json_object_set_new(data, "isMonotonic", json_true());
	json_array_append_new(m->metrics,
			      json_pack("{s:s,s:s,s:o}", "name", name, "unit", unit, kind, data));
}

static void add_counter(struct making *m, const char *member, const char *metric, const char *unit)
{
	json_t *points = json_array(), *one, *point;
	json_int_t sum;
	char name[192];
	size_t i;

	json_array_foreach(m->all, i, one)
	{
		sum = plumb_series_sum(json_object_get(one, "rows"), member);
		if (sum < 0)
			continue;
		point = point_of(m, attributes_of(json_object_get(one, "key")));
		json_object_set_new(point, "asInt", integer(sum));
		json_array_append_new(points, point);
	}
	if (!json_array_size(points)) {
		json_decref(points);
		return;
	}
	snprintf(name, sizeof(name), "%s.%s", m->prefix, metric);
	add_metric(m, name, unit, "sum", points);
}

/* --- histograms --- */

int plumb_otlp_index(double value, int scale)
{
	return (int)ceil(ldexp(log2(value), scale)) - 1;
}

/* The histogram of a series: count by bucket, from OFFSET on. */
struct exponential {
	uint64_t *counts;
	int offset;
	size_t n;
	uint64_t zero, count, sum, min, max;
};

/*
 * The bucket that [?, HIGHEST] is counted in; UNIT: a value in seconds or bytes is so many.  Calls
 * stay where they were counted, so HIGHEST is never cut at the longest call so far.
 */
static int index_of(uint64_t highest, double unit, int scale)
{
	return plumb_otlp_index(highest / unit, scale);
}

/* The last bucket of hist.h has no upper bound. */
static uint64_t highest_of(const json_t *bucket)
{
	const uint64_t lowest = json_integer_value(json_array_get(bucket, 0));
	const uint64_t highest = json_integer_value(json_array_get(bucket, 1));

	return lowest >> PLUMB_HIST_RANGE_BITS ? lowest : highest;
}

static void find_range(const json_t *rows, const char *second, double unit, int scale,
		       struct exponential *e)
{
	int first = INT_MAX, last = INT_MIN, at;
	json_t *row, *bucket;
	size_t i, b;

	json_array_foreach(rows, i, row)
	{
		const json_t *from = second ? json_object_get(row, second) : row;

		json_array_foreach(json_object_get(from, "hist"), b, bucket)
		{
			if (!highest_of(bucket))
				continue;
			at = index_of(highest_of(bucket), unit, scale);
			first = at < first ? at : first;
			last = at > last ? at : last;
		}
	}
	e->offset = first <= last ? first : 0;
	e->n = first <= last ? last - first + 1 : 0;
}

static void add_row(const json_t *from, double unit, int scale, struct exponential *e)
{
	const uint64_t min = json_integer_value(json_object_get(from, "min"));
	const uint64_t max = json_integer_value(json_object_get(from, "max"));
	json_t *bucket;
	uint64_t n;
	size_t b;

	if (!json_array_size(json_object_get(from, "hist")))
		return;
	e->min = !e->count || min < e->min ? min : e->min;
	e->max = max > e->max ? max : e->max;
	e->sum += json_integer_value(json_object_get(from, "sum"));
	json_array_foreach(json_object_get(from, "hist"), b, bucket)
	{
		n = json_integer_value(json_array_get(bucket, 2));
		e->count += n;
		if (highest_of(bucket))
			e->counts[index_of(highest_of(bucket), unit, scale) - e->offset] += n;
		else
			e->zero += n;
	}
}

static json_t *histogram_of(const struct making *m, const json_t *one, const char *second,
			    double unit)
{
	const int scale = json_integer_value(json_object_get(m->report, "precision_bits")) - 1;
	const json_t *rows = json_object_get(one, "rows");
	json_t *point = point_of(m, attributes_of(json_object_get(one, "key"))), *row;
	json_t *counts = json_array();
	struct exponential e = {};
	size_t i;

	find_range(rows, second, unit, scale, &e);
	e.counts = calloc(e.n + 1, sizeof(*e.counts));
	if (!e.counts)
		abort();
	json_array_foreach(rows, i, row)
		add_row(second ? json_object_get(row, second) : row, unit, scale, &e);
	for (i = 0; i < e.n; i++)
		json_array_append_new(counts, integer(e.counts[i]));
	free(e.counts);
	json_object_set_new(point, "count", integer(e.count));
	json_object_set_new(point, "sum", json_real(e.sum / unit));
	json_object_set_new(point, "min", json_real(e.min / unit));
	json_object_set_new(point, "max", json_real(e.max / unit));
	json_object_set_new(point, "scale", json_integer(scale));
	json_object_set_new(point, "zeroCount", integer(e.zero));
	json_object_set_new(point, "positive",
			    json_pack("{s:i,s:o}", "offset", e.offset, "bucketCounts", counts));
	return point;
}

static void add_histograms(struct making *m, const char *second, bool bytes)
{
	json_t *points = json_array(), *one;
	char name[192];
	size_t i;

	json_array_foreach(m->all, i, one)
		json_array_append_new(points, histogram_of(m, one, second, bytes ? 1 : 1e9));
	snprintf(name, sizeof(name), "%s%s%s", m->prefix, second ? "." : "", second ?: "");
	add_metric(m, name, bytes ? "By" : "s", "exponentialHistogram", points);
}

/* --- the request --- */

static void add_rows(struct making *m)
{
	const bool bytes = plumb_series_are_sizes(m->report);
	const json_t *first = json_array_get(m->all, 0);
	const json_t *row = json_array_get(json_object_get(first, "rows"), 0);
	const char *second = plumb_series_second(row);
	struct plumb_series_counter c;

	if (!row)
		return;
	if (json_object_get(row, "hist"))
		add_histograms(m, NULL, bytes);
	else
		add_counter(m, "count", "calls", "{call}");
	if (second)
		add_histograms(m, second, false);
	add_counter(m, "errors", "errors", "{call}");
	for (size_t i = 0; plumb_series_counter(m->report, i, &c); i++)
		add_counter(m, c.member, c.metric, c.bytes ? "By" : "1");
}

static void add_ledger(struct making *m)
{
	const json_t *ledger = json_object_get(m->report, "ledger"), *value;
	const struct plumb_series_count *c = plumb_series_counts;
	json_t *point;
	char name[64];

	for (; c->member; c++) {
		value = plumb_series_count(ledger, c);
		if (!json_is_integer(value))
			continue;
		point = point_of(m, json_array());
		json_object_set_new(point, "asInt", integer(json_integer_value(value)));
		snprintf(name, sizeof(name), "plumb.%s", c->metric);
		add_metric(m, name, strcmp(c->member, "missed") ? "{call}" : "{execution}",
			   c->falls ? "gauge" : "sum", json_pack("[o]", point));
	}
}

/* The age of the oldest call that has not ended, if the tool knows it. */
static void add_oldest(struct making *m)
{
	const json_t *ns = json_object_get(m->report, "in_flight_oldest_ns");
	json_t *point;

	if (!json_is_integer(ns))
		return;
	point = point_of(m, json_array());
	json_object_set_new(point, "asDouble", json_real(json_integer_value(ns) / 1e9));
	add_metric(m, "plumb.in_flight_oldest", "s", "gauge", json_pack("[o]", point));
}

/* Of the semantic conventions' resource attributes. */
static json_t *resource_of(const json_t *report, const char *instance)
{
	static const struct {
		const char *member, *name;
	} names[] = {
		{"tool", "service.name"},
		{"version", "service.version"},
		{"host", "host.name"},
		{"kernel", "os.version"},
	};
	const char *arch = json_string_value(json_object_get(report, "arch")) ?: "";
	json_t *list = json_array(), *value;

	add_attribute(list, "service.namespace", json_pack("{s:s}", "stringValue", "plumb"));
	add_attribute(list, "service.instance.id", json_pack("{s:s}", "stringValue", instance));
	add_attribute(list, "os.type", json_pack("{s:s}", "stringValue", "linux"));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		value = json_object_get(report, names[i].member);
		if (value)
			add_attribute(list, names[i].name, value_of(value));
	}
	arch = !strcmp(arch, "x86_64") ? "amd64" : !strcmp(arch, "aarch64") ? "arm64" : arch;
	if (*arch)
		add_attribute(list, "host.arch", json_pack("{s:s}", "stringValue", arch));
	return json_pack("{s:o}", "attributes", list);
}

int plumb_otlp_instance(char id[PLUMB_UUID_SIZE])
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return -errno;
	/* RFC 9562: the version, and the variant. */
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	for (size_t i = 0, n = 0; i < sizeof(b); i++)
		n += snprintf(id + n, PLUMB_UUID_SIZE - n, "%s%02x",
			      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
	return 0;
}

json_t *plumb_otlp(const json_t *report, const char *instance)
{
	struct making m = {
		.report = report,
		.all = plumb_series(report),
		.metrics = json_array(),
		.start = integer(plumb_json_ns(json_object_get(report, "start"))),
		.end = integer(plumb_json_ns(json_object_get(report, "end"))),
	};
	json_t *scope = json_pack("{s:s,s:O}", "name", "plumb", "version",
				  json_object_get(report, "version"));
	char name[96];

	plumb_series_name(report, name, sizeof(name));
	snprintf(m.prefix, sizeof(m.prefix), "plumb.%s", name);
	add_rows(&m);
	add_ledger(&m);
	add_oldest(&m);
	json_decref(m.all);
	json_decref(m.start);
	json_decref(m.end);
	return json_pack("{s:[{s:o,s:[{s:o,s:o}]}]}", "resourceMetrics", "resource",
			 resource_of(report, instance), "scopeMetrics", "scope", scope, "metrics",
			 m.metrics);
}
