// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* report as JSON, by a parser: large numbers, hostile names, and null for what is unknown. */
#include "made-report.h"
#include <errno.h>
#include <plumb/core/json.h>

/* As a reader gets it. */
static json_t *printed(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *j;

	assert_int_equal(plumb_report_json(&report, out), 0);
	fclose(out);
	/* One line. */
	check(strchr(text, '\n') == text + size - 1, "%s", text);
	for (size_t i = 0; i < size - 1; i++)
		check((unsigned char)text[i] >= ' ', "\\x%02x", text[i]);
	j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	check(json_is_object(j), "%s", text);
	free(text);
	return j;
}

/* The member at "rows/0/key", as compact JSON; "": there is none. */
static const char *at(const json_t *j, const char *path)
{
	static char *text;
	char copy[64], *rest = copy, *step;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((step = strsep(&rest, "/")))
		j = json_is_array(j) ? json_array_get(j, strtoul(step, NULL, 10))
				     : json_object_get(j, step);
	free(text);
	text = j ? json_dumps(j, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS) : strdup("");
	return text;
}

static void is(const json_t *j, const char *path, const char *wanted)
{
	check(!strcmp(at(j, path), wanted), "%s: %s, not %s", path, at(j, path), wanted);
}

static void a_row_is_exact(void **state)
{
	json_t *j;
	int64_t low, high;

	begin_report();
	add_row("nginx", 7, 3, 1500);
	rows[0].sum = (1ULL << 53) + 1; /* what a double has no room for */
	rows[0].errors = 1;
	j = printed();
	is(j, "schema", "\"plumb/2\"");
	is(j, "tool", "\"unit\"");
	is(j, "unit", "\"ns\"");
	is(j, "rows/0/key", "{\"comm\":\"nginx\",\"pid\":7}");
	is(j, "rows/0/count", "3");
	is(j, "rows/0/sum", "9007199254740993");
	is(j, "rows/0/min", "1500");
	is(j, "rows/0/max", "1500");
	is(j, "rows/0/percentiles", "{\"50\":1500,\"99.9\":1500}");
	is(j, "rows/0/low_samples", "[\"99.9\"]");
	is(j, "rows/0/hist/0/2", "3");
	low = strtoll(at(j, "rows/0/hist/0/0"), NULL, 10);
	high = strtoll(at(j, "rows/0/hist/0/1"), NULL, 10);
	/* By the bound of --precision. */
	check(low <= 1500 && 1500 <= high && high < 1500 + 1500 / 64 + 1, "%" PRId64 " %" PRId64,
	      low, high);
	json_decref(j);
}

/* jansson's integers are signed. */
static void the_largest_numbers(void **state)
{
	json_t *j;

	begin_report();
	add_row("sh", UINT32_MAX, 1, 5);
	rows[0].count = INT64_MAX;
	rows[0].sum = UINT64_MAX;
	report.elapsed = (uint64_t)INT64_MAX + 1;
	snap.ledger.filtered_at_exit = UINT64_MAX;
	j = printed();
	is(j, "rows/0/key/pid", "4294967295");
	is(j, "rows/0/count", "9223372036854775807");
	is(j, "rows/0/sum", "9223372036854775807");
	is(j, "elapsed_ns", "9223372036854775807");
	is(j, "ledger/filtered_at_exit", "9223372036854775807");
	json_decref(j);
}

static void names_that_others_chose(void **state)
{
	static const struct {
		const char *comm, *json;
	} names[] = {
		{"\"},{\"a\":\"", "\"\\\"},{\\\"a\\\":\\\"\""},
		{"a\\b", "\"a\\\\\\\\b\""},
		{"caf\xc3\xa9", "\"caf\xc3\xa9\""},
		{"a\nb\x1b[2J", "\"a\\\\x0ab\\\\x1b[2J\""},
		{"\xff\xfe", "\"\\\\xff\\\\xfe\""},
		{"\xed\xa0\x80", "\"\\\\xed\\\\xa0\\\\x80\""},
	};
	json_t *j;

	for (size_t i = 0; i < LENGTH(names); i++) {
		begin_report();
		run.options.by = PLUMB_BY_COMM;
		add_row(names[i].comm, 1, 1, 100);
		j = printed();
		is(j, "rows/0/key/comm", names[i].json);
		json_decref(j);
	}
}

static void what_has_no_key_is_other(void **state)
{
	json_t *j;

	begin_report();
	add_row(NULL, 0, 5, 100);
	run.options.by = 0;
	add_row("sh", 7, 1, 100);
	j = printed();
	is(j, "rows/0/key", "{\"other\":true}");
	is(j, "rows/1/key", "{}");
	is(j, "ledger/pooled", "5");
	json_decref(j);
	snap.n = 0;
	j = printed();
	is(j, "rows", "[]");
	json_decref(j);
}

static void what_is_not_known_is_null(void **state)
{
	json_t *j;

	begin_report();
	snap.missed_known = false;
	snap.missed = 3;
	j = printed();
	is(j, "ledger/lost", "null");
	is(j, "ledger/missed", "null");
	is(j, "ledger/cpus_changed", "null");
	is(j, "overhead_ns/traced", "null");
	is(j, "overhead_ns/traced_interval", "null");
	is(j, "overhead_ns/how", "\"not asked for\"");
	is(j, "on_the_way_out", "");
	is(j, "not_seen", "");
	json_decref(j);

	snap.missed_known = snap.cpus_watched = true;
	run.overhead = (struct plumb_overhead){
		.known = true, .traced = {99.4, 100.5, 102}, .how = "calibrated"};
	run.no_return = "--no-return";
	j = printed();
	is(j, "ledger/missed", "3");
	is(j, "ledger/cpus_changed", "false");
	is(j, "overhead_ns/traced", "101");
	is(j, "overhead_ns/filtered", "null");
	is(j, "on_the_way_out/not_seen", "\"--no-return\"");
	is(j, "on_the_way_out/calls", "null");
	json_decref(j);
	run.no_return = "";
	j = printed();
	is(j, "on_the_way_out/not_seen", "null");
	is(j, "on_the_way_out/calls", "0");
	json_decref(j);
}

static void times_are_utc_with_nanoseconds(void **state)
{
	json_t *j;

	begin_report();
	report.start = (struct timespec){0, 1};
	snap.taken = (struct timespec){1795612512, 551625268};
	report.final = true;
	report.seq = 1ULL << 33;
	setenv("TZ", "America/New_York", 1);
	tzset();
	j = printed();
	is(j, "start", "\"1970-01-01T00:00:00.000000001Z\"");
	is(j, "end", "\"2026-11-25T13:15:12.551625268Z\"");
	is(j, "seq", "8589934592");
	is(j, "final", "true");
	json_decref(j);
}

static void mechanisms_that_were_refused(void **state)
{
	const struct plumb_refusal refused = {"fentry", -EPERM, "load: EPERM, \x1b\xff"};
	json_t *j;

	begin_report();
	run.refused[0] = refused;
	run.n_refused = 1;
	j = printed();
	is(j, "mechanism/name", "\"none\"");
	is(j, "mechanism/hooks", "[\"sys_enter\"]");
	is(j, "mechanism/refused/0/name", "\"fentry\"");
	check(strstr(at(j, "mechanism/refused/0/why"), "\\\\xff"), "%s",
	      at(j, "mechanism/refused/0/why"));
	json_decref(j);
}

static int rows_of_its_own(const struct plumb_report *r, FILE *out)
{
	fputs("[{\"own\":1}]", out);
	return 0;
}

static void add_own(json_t *json, const struct plumb_report *r)
{
	json_object_set_new(json, "of_the_tool", plumb_json_u64(r->snap->n));
}

static void what_a_tool_adds(void **state)
{
	json_t *j;

	begin_report();
	add_row("sh", 7, 1, 100);
	tool.view.rows_json = rows_of_its_own;
	tool.view.report_json = add_own;
	j = printed();
	is(j, "rows", "[{\"own\":1}]");
	is(j, "of_the_tool", "1");
	is(j, "ledger/recorded", "1");
	json_decref(j);
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *out = fopen("/dev/full", "w");

	begin_report();
	for (uint32_t i = 0; i < MAX_ROWS; i++)
		add_row("sh", i + 1, 1, 100);
	setvbuf(out, NULL, _IONBF, 0);
	assert_int_equal(plumb_report_json(&report, out), -ENOSPC);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_is_exact),
		cmocka_unit_test(the_largest_numbers),
		cmocka_unit_test(names_that_others_chose),
		cmocka_unit_test(what_has_no_key_is_other),
		cmocka_unit_test(what_is_not_known_is_null),
		cmocka_unit_test(times_are_utc_with_nanoseconds),
		cmocka_unit_test(mechanisms_that_were_refused),
		cmocka_unit_test(what_a_tool_adds),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return run_all(tests);
}
