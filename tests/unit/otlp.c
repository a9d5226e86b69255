// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* otlp: the bound of its exponential histograms, and the form of its JSON. */
#include <math.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/percentile.h>
#include <plumb/outputs/otlp.h>

#include "unit.h"

/* A little more than what a double's rounding does. */
#define ROUNDING 1e-9

static void index_of_powers(void **state)
{
	for (int scale = 0; scale <= 9; scale++) {
		check(plumb_otlp_index(1, scale) == -1, "1 is the upper bound of bucket -1");
		for (int k = -30; k <= 12; k++) {
			check(plumb_otlp_index(ldexp(1, k), scale) == (k << scale) - 1,
			      "2^%d at scale %d", k, scale);
			check(plumb_otlp_index(ldexp(1, k) * (1 + ROUNDING), scale) == k << scale,
			      "above 2^%d at scale %d", k, scale);
		}
	}
}

/* v <= U < v (1 + 2^-p) b, for the lowest and the highest value of each bucket. */
static void bound_holds_for_all_buckets(void **state)
{
	for (uint32_t p = PLUMB_HIST_MIN_PRECISION; p <= PLUMB_HIST_MAX_PRECISION; p++) {
		const int scale = p - 1;
		const double b = exp2(ldexp(1, -scale)), bound = (1 + ldexp(1, -p)) * b;

		for (uint32_t i = 1; i + 1 < plumb_hist_buckets(p); i++) {
			const double low = plumb_bucket_lowest(i, p) / 1e9,
				     high = plumb_bucket_highest(i, p) / 1e9;
			const double upper = exp2(ldexp(plumb_otlp_index(high, scale) + 1, -scale));

			check(upper >= high * (1 - ROUNDING), "precision %u, bucket %u: not low", p,
			      i);
			check(upper < low * bound * (1 + ROUNDING),
			      "precision %u, bucket %u: high by %g", p, i, upper / low - 1);
			check(upper < high * b * (1 + ROUNDING), "no bucket further");
		}
	}
}

#define REPORT                                                                                     \
	"{\"tool\":\"t-u\",\"version\":\"1\",\"host\":\"h\",\"kernel\":\"6\",\"arch\":\"x86_64\"," \
	"\"start\":\"2026-11-25T13:15:12.551625268Z\",\"end\":\"2026-11-25T13:15:13.000000001Z\"," \
	"\"precision_bits\":6,\"unit\":\"ns\",\"rows\":[{\"key\":{\"pid\":7,\"comm\":\"c\"},"      \
	"\"count\":6,\"errors\":1,\"sum\":1000000000,\"min\":0,\"max\":1000000000,"                \
	"\"hist\":[[0,0,2],[500000000,500000000,3],[996147200,1003487231,1]]},"                    \
	"{\"key\":{\"other\":true},\"count\":1,\"errors\":0,\"sum\":1,\"min\":1,\"max\":1,"        \
	"\"hist\":[[1,1,1]]}],\"ledger\":{\"lost\":9,\"missed\":null}}"

static const json_t *metric(const json_t *request, size_t i)
{
	const json_t *scopes = json_object_get(
		json_array_get(json_object_get(request, "resourceMetrics"), 0), "scopeMetrics");

	return json_array_get(json_object_get(json_array_get(scopes, 0), "metrics"), i);
}

static void is_json(const json_t *found, const char *wanted)
{
	char *text = json_dumps(found, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

	check(text && !strcmp(text, wanted), "found %s, wanted %s", text ?: "nothing", wanted);
	free(text);
}

static void point_of_a_report(void **state)
{
	json_t *report = json_loads(REPORT, 0, NULL), *request = plumb_otlp(report, "id"), *counts;
	const json_t *h = json_object_get(metric(request, 0), "exponentialHistogram");
	const json_t *point = json_array_get(json_object_get(h, "dataPoints"), 0);
	const json_t *other = json_array_get(json_object_get(h, "dataPoints"), 1);

	is_json(json_object_get(metric(request, 0), "name"), "\"plumb.t_u\"");
	is_json(json_object_get(metric(request, 0), "unit"), "\"s\"");
	is_json(json_object_get(h, "aggregationTemporality"), "2");
	is_json(json_object_get(point, "startTimeUnixNano"), "\"1795612512551625268\"");
	is_json(json_object_get(point, "timeUnixNano"), "\"1795612513000000001\"");
	is_json(json_object_get(point, "count"), "\"6\"");
	is_json(json_object_get(point, "zeroCount"), "\"2\"");
	is_json(json_object_get(point, "sum"), "1.0");
	is_json(json_object_get(point, "max"), "1.0");
	is_json(json_object_get(point, "scale"), "5");
	is_json(json_object_get(point, "attributes"),
		"[{\"key\":\"pid\",\"value\":{\"intValue\":\"7\"}},"
		"{\"key\":\"comm\",\"value\":{\"stringValue\":\"c\"}}]");
	is_json(json_object_get(other, "attributes"),
		"[{\"key\":\"otel.metric.overflow\",\"value\":{\"boolValue\":true}}]");
	/* 0.5 s is the upper bound of bucket -33; the last one ends above 1 s, the longest call. */
	point = json_object_get(point, "positive");
	is_json(json_object_get(point, "offset"), "-33");
	counts = json_object_get(point, "bucketCounts");
	check(json_array_size(counts) == 34, "to bucket 0: %zu", json_array_size(counts));
	is_json(json_array_get(counts, 0), "\"3\"");
	is_json(json_array_get(counts, 33), "\"1\"");
	is_json(json_object_get(metric(request, 2), "name"), "\"plumb.lost_calls\"");
	check(!metric(request, 3), "nothing of missed executions, which nobody knows");
	json_decref(request);
	json_decref(report);
}

/* As RFC 9562 has them: of version 4, and no two the same. */
static void instances_are_random_uuids(void **state)
{
	char id[PLUMB_UUID_SIZE], other[PLUMB_UUID_SIZE];

	for (int n = 0; n < 1000; n++) {
		assert_int_equal(plumb_otlp_instance(id), 0);
		assert_int_equal(plumb_otlp_instance(other), 0);
		check(strcmp(id, other) != 0, "%s twice", id);
		assert_int_equal(strlen(id), 36);
		for (size_t i = 0; i < 36; i++)
			check(i == 8 || i == 13 || i == 18 || i == 23
				      ? id[i] == '-'
				      : strchr("0123456789abcdef", id[i]) != NULL,
			      "%s", id);
		check(id[14] == '4' && strchr("89ab", id[19]), "%s", id);
	}
}

static void no_name_passes_as_other(void **state)
{
	json_t *report = json_loads(REPORT, 0, NULL);
	json_t *row = json_array_get(json_object_get(report, "rows"), 0), *request;
	const json_t *points, *resource;

	json_object_set_new(json_object_get(row, "key"), "comm", json_string("[other]"));
	request = plumb_otlp(report, "id");
	points = json_object_get(json_object_get(metric(request, 0), "exponentialHistogram"),
				 "dataPoints");
	is_json(json_object_get(json_array_get(points, 0), "attributes"),
		"[{\"key\":\"pid\",\"value\":{\"intValue\":\"7\"}},"
		"{\"key\":\"comm\",\"value\":{\"stringValue\":\"\\\\x5bother]\"}}]");
	resource = json_object_get(json_array_get(json_object_get(request, "resourceMetrics"), 0),
				   "resource");
	is_json(json_array_get(json_object_get(resource, "attributes"), 1),
		"{\"key\":\"service.instance.id\",\"value\":{\"stringValue\":\"id\"}}");
	json_decref(request);
	json_decref(report);
}

/* The calls of a report's only row by bucket; BUCKETS[i] is that of index i - BASE. */
#define BASE 1024

static void export(const char *hist, uint64_t max, uint64_t *buckets)
{
	json_t *report = json_pack("{s:s,s:i,s:[{s:{},s:i,s:i,s:i,s:I,s:o}]}", "version", "1",
				   "precision_bits", 6, "rows", "key", "count", 1, "sum", 1, "min",
				   1, "max", (json_int_t)max, "hist", json_loads(hist, 0, NULL));
	json_t *request = plumb_otlp(report, "id"), *n;
	const json_t *point = json_array_get(
		json_object_get(json_object_get(metric(request, 0), "exponentialHistogram"),
				"dataPoints"),
		0);
	const json_t *positive = json_object_get(point, "positive");
	const int offset = json_integer_value(json_object_get(positive, "offset"));
	uint64_t sum = atoi(json_string_value(json_object_get(point, "zeroCount")));
	size_t i;

	memset(buckets, 0, 2 * BASE * sizeof(*buckets));
	json_array_foreach(json_object_get(positive, "bucketCounts"), i, n)
	{
		buckets[BASE + offset + (int)i] = atoi(json_string_value(n));
		sum += atoi(json_string_value(n));
	}
	check(sum == (uint64_t)atoi(json_string_value(json_object_get(point, "count"))),
	      "%" PRIu64 " calls are in buckets", sum);
	json_decref(request);
	json_decref(report);
}

/* The maximum grows within one bucket of the tool, which reaches into two exponential ones. */
static void buckets_never_decrease(void **state)
{
	static const struct {
		const char *hist;
		uint64_t max;
	} lines[] = {
		{"[[0,0,1],[998244352,1006632959,1]]", 998244352},
		{"[[0,0,1],[998244352,1006632959,2]]", 1006632959},
		{"[[0,0,1],[998244352,1006632959,2],[4398046511104,4400000000000,1]]",
		 4400000000000},
		{"[[0,0,1],[998244352,1006632959,2],[4398046511104,9000000000000,2]]",
		 9000000000000},
	};
	static uint64_t before[2 * BASE], after[2 * BASE];

	for (size_t n = 0; n < LENGTH(lines); n++) {
		memcpy(before, after, sizeof(before));
		export(lines[n].hist, lines[n].max, after);
		for (size_t i = 0; i < LENGTH(before); i++)
			check(after[i] >= before[i],
			      "line %zu, bucket %d: %" PRIu64 " was %" PRIu64, n, (int)i - BASE,
			      after[i], before[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(index_of_powers),
		cmocka_unit_test(bound_holds_for_all_buckets),
		cmocka_unit_test(point_of_a_report),
		cmocka_unit_test(buckets_never_decrease),
		cmocka_unit_test(instances_are_random_uuids),
		cmocka_unit_test(no_name_passes_as_other),
	};

	return run_all(tests);
}
