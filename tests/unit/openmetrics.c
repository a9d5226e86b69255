// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* openmetrics: labels, the row [other], histograms of a report. */
#include <plumb/outputs/openmetrics.h>

#include "unit.h"

static char *text_of(const char *report, const char *le, const char *run)
{
	struct plumb_ladder times, sizes;
	json_t *j = json_loads(report, 0, NULL);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	check(j && out, "a report: %s", report);
	check(!plumb_ladder_parse(&times, le, false), "a ladder");
	plumb_ladder_of_sizes(&sizes);
	check(!plumb_openmetrics_write(j, &times, &sizes, run, out), "it is written");
	fclose(out);
	json_decref(j);
	return text;
}

static void has(const char *report, const char *line)
{
	char *text = text_of(report, "1us,2us", NULL);
	const char *at = strstr(text, line);

	check(at && (at == text || at[-1] == '\n') && at[strlen(line)] == '\n',
	      "has the line %s: %s", line, text);
	free(text);
}

#define ROW(key, count) "{\"key\":" key ",\"count\":" #count "}"
#define COUNTS(rows)    "{\"tool\":\"a-b\",\"rows\":[" rows "]}"

static void labels_are_escaped(void **state)
{
	has(COUNTS(ROW("{\"comm\":\"a\\\"b\\\\\\\\c\\nd\"}", 3)),
	    "plumb_a_b_calls_total{comm=\"a\\\"b\\\\\\\\c\\nd\"} 3");
	has(COUNTS(ROW("{\"comm\":\"\"}", 3)), "plumb_a_b_calls_total{comm=\"\"} 3");
	has(COUNTS(ROW("{\"remote-addr\":\"::1\",\"cpu\":7,\"ok\":true,\"x\":null}", 3)),
	    "plumb_a_b_calls_total{remote_addr=\"::1\",cpu=\"7\",ok=\"true\",x=\"\"} 3");
	has(COUNTS(ROW("{\"le\":\"1\"}", 3)), "plumb_a_b_calls_total{key_le=\"1\"} 3");
	has(COUNTS(ROW("{}", 3)), "plumb_a_b_calls_total{} 3");
}

static void other_has_the_same_labels(void **state)
{
	const char *rows =
		COUNTS(ROW("{\"other\":true}", 5) "," ROW("{\"pid\":1,\"comm\":\"a\"}", 3));

	has(rows, "plumb_a_b_calls_total{pid=\"[other]\",comm=\"[other]\"} 5");
	has(COUNTS(ROW("{\"other\":true}", 5)), "plumb_a_b_calls_total{} 5");
}

static void no_name_passes_as_other(void **state)
{
	has(COUNTS(ROW("{\"other\":true}", 5) "," ROW("{\"comm\":\"[other]\"}", 3)),
	    "plumb_a_b_calls_total{comm=\"\\\\x5bother]\"} 3");
}

/* node_exporter refuses all of a file in which two lines are of the same series. */
static void equal_keys_are_one_series(void **state)
{
	const char *rows = COUNTS(ROW("{\"f\":\"g\"}", 5) "," ROW("{\"f\":\"h\"}", 1) "," ROW(
		"{\"f\":\"g\"}", 3) "," ROW("{\"f\":\"none\"}", 0));
	char *text = text_of(rows, "1us", NULL);

	has(rows, "plumb_a_b_calls_total{f=\"g\"} 8");
	check(!strstr(strstr(text, "f=\"g\"") + 1, "f=\"g\""), "once: %s", text);
	check(!strstr(text, "none"), "no row of nothing: %s", text);
	free(text);
}

#define TIMES                                                                                      \
	"{\"tool\":\"t\",\"unit\":\"ns\",\"rows\":[{\"key\":{},\"count\":6,\"errors\":2,"          \
	"\"sum\":1500000001,\"hist\":[[990,1000,1],[1001,1001,2],[1984,2015,3]]}]}"

static void histograms_are_cumulative(void **state)
{
	has(TIMES, "plumb_t_seconds_bucket{le=\"1e-06\"} 1");
	has(TIMES, "plumb_t_seconds_bucket{le=\"2e-06\"} 3");
	has(TIMES, "plumb_t_seconds_bucket{le=\"+Inf\"} 6");
	has(TIMES, "plumb_t_seconds_count{} 6");
	has(TIMES, "plumb_t_seconds_sum{} 1.500000001");
	has(TIMES, "plumb_t_errors_total{} 2");
}

#define SIZES                                                                                      \
	"{\"tool\":\"t\",\"unit\":\"bytes\",\"counters\":[{\"name\":\"asked\",\"bytes\":true,"     \
	"\"about\":\"Asked.\"},{\"name\":\"odd\",\"bytes\":false,\"about\":\"Odd.\"}],\"rows\":[{" \
	"\"key\":{},\"count\":1,\"sum\":64,"                                                       \
	"\"hist\":[[64,64,1]],\"latency\":{\"sum\":7,\"hist\":[[7,7,1]]},\"asked\":9,\"odd\":5}]}"

static void sizes_are_bytes(void **state)
{
	has(SIZES, "plumb_t_bytes_bucket{le=\"63\"} 0");
	has(SIZES, "plumb_t_bytes_bucket{le=\"79\"} 1");
	has(SIZES, "plumb_t_bytes_sum{} 64");
	has(SIZES, "plumb_t_latency_seconds_sum{} 0.000000007");
	has(SIZES, "plumb_t_asked_bytes_total{} 9");
	has(SIZES, "plumb_t_odd_total{} 5");
	has(SIZES, "# HELP plumb_t_odd_total Odd.");
}

/* Nobody observes failures: that is not 0 of them. */
static void what_is_null_is_no_sample(void **state)
{
	static const char one[] = "{\"tool\":\"t\",\"rows\":[" ROW("{\"f\":\"g\"}", 3) "]}";
	static const char two[] =
		"{\"tool\":\"t\",\"rows\":[{\"key\":{\"f\":\"void\"},\"count\":1,\"errors\":null},"
		"{\"key\":{\"f\":\"int\"},\"count\":1,\"errors\":0}]}";
	char *text = text_of(one, "1us", NULL), *mixed = text_of(two, "1us", NULL);

	check(!strstr(text, "errors"), "%s", text);
	check(strstr(mixed, "plumb_t_errors_total{f=\"int\"} 0\n"), "%s", mixed);
	check(!strstr(mixed, "plumb_t_errors_total{f=\"void\"}"), "%s", mixed);
	free(text);
	free(mixed);
}

static void runs_are_distinct(void **state)
{
	char *text = text_of(TIMES, "1us", "a\"b");

	check(strstr(text, "plumb_t_seconds_bucket{run=\"a\\\"b\",le=\"1e-06\"} 1\n"), "%s", text);
	check(strstr(text, "plumb_build_info{run=\"a\\\"b\",tool=\"t\","), "%s", text);
	free(text);
}

static void hostile_reports_are_survived(void **state)
{
	static const char *const reports[] = {
		"{}",
		"{\"rows\":7}",
		"{\"tool\":1,\"rows\":[1,null,{}]}",
		"{\"tool\":\"t\",\"rows\":[{\"key\":[],\"count\":1,\"hist\":[1,[],[1,-1,1]]}]}",
		"{\"rows\":[{\"count\":1}],\"ledger\":[],\"mechanism\":7,\"start\":\"x\"}",
	};

	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		free(text_of(reports[i], "1us", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(other_has_the_same_labels),
		cmocka_unit_test(no_name_passes_as_other),
		cmocka_unit_test(equal_keys_are_one_series),
		cmocka_unit_test(histograms_are_cumulative),
		cmocka_unit_test(sizes_are_bytes),
		cmocka_unit_test(what_is_null_is_no_sample),
		cmocka_unit_test(runs_are_distinct),
		cmocka_unit_test(hostile_reports_are_survived),
	};

	return run_all(tests);
}
