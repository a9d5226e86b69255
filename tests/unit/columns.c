// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* columns of a table: those of every tool, a tool's own, which are shown, and the rows' order. */
#include "said.h"

#include <math.h>
#include <sys/wait.h>
#include <plumb/core/json.h>
#include <plumb/core/report.h>

static double half(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	return row->count == 3 ? NAN : (double)row->count / id;
}

static const char *parity(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	return row->count == 3 ? NULL : row->count % 2 ? "odd" : "even";
}

static const struct plumb_column own[] = {
	{"random", PLUMB_COLUMN_COUNT, "One.", .id = 0},
	{"moved", PLUMB_COLUMN_BYTES, "Two.", .id = 2},
	{"half", PLUMB_COLUMN_RATIO, "Three.", .id = 2, .value = half},
	{"parity", PLUMB_COLUMN_TEXT, "Four.", .text = parity},
	{"hidden", PLUMB_COLUMN_PERCENT, NULL, .id = 200, .value = half}, /* not in JSON */
	{},
};

static struct plumb_row rows[] = {
	{.slot = 1, .count = 2, .sum = 10, .counters = {7, 0, 2048}},
	{.slot = 2, .count = 3, .sum = 20, .counters = {1, 0, 1024}},
	{.slot = 3, .count = 5, .sum = 50, .counters = {7, 0, 0}},
};
static struct plumb_snapshot snap = {.rows = rows, .n = LENGTH(rows)};

/* A tool of KIND; what it prints, sorted. */
static const char *table(enum plumb_measure_kind kind, const struct plumb_options *o)
{
	static char text[2048];
	const struct plumb_tool tool = {.measure = {.kind = kind, .errors = true, .columns = own}};
	const struct plumb_run run = {.tool = &tool, .options = *o};
	struct plumb_report r = {.run = &run, .snap = &snap, .total = &snap, .elapsed = 2000000000};
	FILE *out = fmemopen(text, sizeof(text), "w");

	plumb_report_sort(&r);
	plumb_report_table(&r, out);
	fclose(out);
	return text;
}

static void the_tools_own_are_among_the_others(void **state)
{
	const struct plumb_options o = {};

	assert_string_equal(table(PLUMB_COUNTS, &o),
			    "CALLS RANDOM MOVED RATE/S ERRORS  HALF PARITY HIDDEN\n"
			    "    5      7     0    2.5      0 2.500    odd   0.03\n"
			    "    3      1 1.00K    1.5      0     -      -      -\n"
			    "    2      7 2.00K    1.0      0 1.000   even   0.01\n");
}

static void those_that_are_asked_for_are_shown_in_that_order(void **state)
{
	const struct plumb_options o = {.columns = "mean,total,moved,share,calls"},
				   sorted = {.sort = "mean"};

	assert_string_equal(table(PLUMB_TIMES, &o), "MEAN TOTAL MOVED SHARE CALLS\n"
						    "10ns  50ns     0  62.5     5\n"
						    " 6ns  20ns 1.00K  25.0     3\n"
						    " 5ns  10ns 2.00K  12.5     2\n");
	check(strstr(table(PLUMB_TIMES, &sorted), " MEAN "), "%s", table(PLUMB_TIMES, &sorted));
}

static void rows_are_in_the_order_of_a_column(void **state)
{
	const struct plumb_options counter = {.sort = "random", .columns = "random,calls"},
				   none = {.sort = "half", .columns = "half"};

	assert_string_equal(table(PLUMB_COUNTS, &counter), "RANDOM CALLS\n"
							   "     7     5\n"
							   "     7     2\n"
							   "     1     3\n");
	assert_string_equal(table(PLUMB_COUNTS, &none), " HALF\n2.500\n1.000\n    -\n");
}

static void json_has_them(void **state)
{
	const struct plumb_mechanism mechanism = {.name = "m", .stability = "s"};
	const struct plumb_tool tool = {.card.name = "t",
					.measure = {.kind = PLUMB_COUNTS, .columns = own}};
	const struct plumb_run run = {.tool = &tool,
				      .options.sort = "moved",
				      .instance.mechanism = &mechanism,
				      .overhead.how = "not"};
	struct plumb_report r = {.run = &run, .snap = &snap, .total = &snap, .elapsed = 2000000000};
	json_t *report;
	char *text;

	plumb_report_sort(&r);
	report = plumb_report_object(&r);
	text = json_dumps(json_object_get(report, "rows"), JSON_COMPACT);
	check(!strcmp(text, "[{\"key\":{},\"count\":2,\"errors\":null,\"random\":7,\"moved\":2048,"
			    "\"half\":1.0,"
			    "\"parity\":\"even\",\"rate\":1.0},"
			    "{\"key\":{},\"count\":3,\"errors\":null,\"random\":1,\"moved\":1024,"
			    "\"parity\":null,\"rate\":1.5},"
			    "{\"key\":{},\"count\":5,\"errors\":null,\"random\":7,\"moved\":0,"
			    "\"half\":2.5,"
			    "\"parity\":\"odd\",\"rate\":2.5}]"),
	      "%s", text);
	free(text);
	json_decref(report);
}

/* The exit status of a tool with these columns, and what it says. */
static const char *refused(const struct plumb_column *columns, const struct plumb_options *o)
{
	static char text[512];
	const struct plumb_tool tool = {.measure = {.columns = columns, .errors = true}};
	int status;

	listen_to_stderr();
	if (!fork()) {
		plumb_report_check_columns(&tool, o);
		_exit(0);
	}
	wait(&status);
	snprintf(text, sizeof(text), "%d %s", WEXITSTATUS(status), strchr(said(), ':') ?: "");
	return text;
}

static void a_name_is_there_once(void **state)
{
	static const struct plumb_column twice[] = {{"a", PLUMB_COLUMN_COUNT, "A.", .id = 0},
						    {"a", PLUMB_COLUMN_COUNT, "A.", .id = 1},
						    {}},
					 mean[] = {{"mean", PLUMB_COLUMN_COUNT, "A.", .id = 0}, {}},
					 hist[] = {{"hist", PLUMB_COLUMN_COUNT, "A.", .id = 0}, {}};
	const struct plumb_options o = {};

	assert_string_equal(refused(own, &o), "0 ");
	assert_string_equal(refused(twice, &o),
			    "1 : there are two columns or members of JSON with the name a\n");
	check(*refused(mean, &o) == '1', "%s", refused(mean, &o));
	check(*refused(hist, &o) == '1', "%s", refused(hist, &o));
}

static void what_is_asked_for_is_there(void **state)
{
	const struct plumb_options unknown = {.columns = "calls,raandom"},
				   twice = {.columns = "min,max,min"}, empty = {.columns = "min,"},
				   sort = {.sort = "p99"}, good = {.columns = "max,half,share"};

	assert_string_equal(refused(own, &good), "0 ");
	assert_string_equal(refused(own, &unknown),
			    "2 : --columns: no such column: raandom; known: "
			    "calls random "
			    "moved rate total share errors half parity hidden mean min max\n");
	assert_string_equal(refused(own, &twice), "2 : --columns: twice: min\n");
	assert_string_equal(refused(own, &empty), "2 : --columns: an empty item in 'min,'\n");
	check(*refused(own, &sort) == '2', "%s", refused(own, &sort));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tools_own_are_among_the_others),
		cmocka_unit_test(those_that_are_asked_for_are_shown_in_that_order),
		cmocka_unit_test(rows_are_in_the_order_of_a_column),
		cmocka_unit_test(json_has_them),
		cmocka_unit_test(a_name_is_there_once),
		cmocka_unit_test(what_is_asked_for_is_there),
	};

	return run_all(tests);
}
