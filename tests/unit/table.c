// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* table: what stands in which column, which rows there are, and how wide it is. */
#include "made-report.h"

/* --- a table, as lines of words --- */

static char *text;
static char *lines[32];
static size_t n_lines;

static void print(void)
{
	size_t size;
	FILE *out;

	free(text);
	out = open_memstream(&text, &size);
	plumb_report_sort(&report);
	plumb_report_table(&report, out);
	fclose(out);
	assert_int_equal(strlen(text), size);
	for (const char *c = text; *c; c++)
		check(*c == '\n' || (*c & 0x80) || (*c >= ' ' && *c < 0x7f), "\\x%02x", *c);
	n_lines = 0;
	for (char *at = text; *at && n_lines < LENGTH(lines); n_lines++) {
		lines[n_lines] = at;
		at = strchr(at, '\n');
		*at++ = 0;
	}
}

/* Word I of the line; "": it has none. */
static const char *word(size_t line, size_t i)
{
	static char words[8][64];
	static size_t next;
	char *found = words[next++ % 8];
	const char *at = line < n_lines ? lines[line] : "";

	*found = 0;
	for (;; i--) {
		at += strspn(at, " ");
		if (!i || !*at)
			break;
		at += strcspn(at, " ");
	}
	snprintf(found, sizeof(words[0]), "%.*s", (int)strcspn(at, " "), at);
	return found;
}

/* What the line has below the heading. */
static const char *cell(size_t line, const char *heading)
{
	for (size_t i = 0; *word(0, i); i++)
		if (!strcmp(word(0, i), heading))
			return word(line, i);
	return "no such column";
}

static bool has_column(const char *heading)
{
	return strcmp(cell(0, heading), heading) == 0;
}

/* --- columns --- */

static void figures_are_below_their_headings(void **state)
{
	begin_report();
	add_row("nginx", 7, 20000, 1500);
	add_row("sh", 4194304, 3, 2000000);
	print();
	assert_int_equal(n_lines, 3);
	assert_string_equal(cell(1, "COMM"), "nginx");
	assert_string_equal(cell(1, "PID"), "7");
	assert_string_equal(cell(1, "CALLS"), "20000");
	assert_string_equal(cell(1, "P50"), "1.50us");
	assert_string_equal(cell(1, "P99.9"), "1.50us");
	assert_string_equal(cell(1, "MAX"), "1.50us");
	assert_string_equal(cell(2, "COMM"), "sh");
	assert_string_equal(cell(2, "PID"), "4194304");
	/* Of three calls there is no such percentile. */
	assert_string_equal(cell(2, "P99.9"), "2.00ms?");
	assert_string_equal(cell(2, "MAX"), "2.00ms");
	/* Figures end where their headings end. */
	assert_int_equal(strlen(lines[0]), strlen(lines[1]));
	assert_int_equal(strlen(lines[1]), strlen(lines[2]));
	assert_false(has_column("ERRORS"));
	assert_false(has_column("RATE/S"));
}

static void units(void **state)
{
	static const struct {
		enum plumb_unit unit;
		const char *shown;
	} units[] = {{PLUMB_NS, "1500000ns"}, {PLUMB_US, "1500us"}, {PLUMB_MS, "1.50ms"}};
	char digits[32];

	begin_report();
	add_row("sh", 7, 1, 1500000);
	for (size_t i = 0; i < LENGTH(units); i++) {
		run.options.unit = units[i].unit;
		print();
		snprintf(digits, sizeof(digits), "%s", cell(1, "MAX"));
		check(strtod(digits, NULL) == strtod(units[i].shown, NULL), "%s, not %s", digits,
		      units[i].shown);
	}
}

static void errors_and_rates_where_there_are_some(void **state)
{
	begin_report();
	tool.measure.errors = true;
	add_row("sh", 7, 10, 100);
	print();
	assert_false(has_column("ERRORS"));
	rows[0].errors = 2;
	print();
	assert_string_equal(cell(1, "ERRORS"), "2");

	/* Of what is only counted, there are no times. */
	tool.measure.kind = PLUMB_COUNTS;
	tool.measure.counted = "events";
	rows[0].count = 25;
	rows[0].errors = 0;
	print();
	assert_string_equal(cell(1, "EVENTS"), "25");
	assert_string_equal(cell(1, "RATE/S"), "2.5"); /* of 10 s */
	assert_string_equal(cell(1, "ERRORS"), "0");
	assert_false(has_column("MAX") || has_column("P50"));
	report.elapsed = 0;
	print();
	assert_string_equal(cell(1, "RATE/S"), "0.0");
}

static void names_are_one_word_of_printable_text(void **state)
{
	begin_report();
	add_row("\x1b[2J\n\x7f", 1, 9, 100);
	add_row("", 2, 8, 100);
	add_row("caf\xc3\xa9", 3, 7, 100);
	add_row("\xff", 4, 6, 100);
	print();
	assert_int_equal(n_lines, 5);
	assert_string_equal(cell(1, "COMM"), "\\x1b[2J\\x0a\\x7f");
	assert_string_equal(cell(2, "COMM"), "\\x00");
	assert_string_equal(cell(4, "COMM"), "\\xff");
}

static void rows_beyond_max_keys(void **state)
{
	begin_report();
	add_row("sh", 7, 10, 100);
	add_row(NULL, 0, 5, 100);
	print();
	assert_true(strstr(lines[2], "[other]") == lines[2] + strspn(lines[2], " "));
	assert_int_equal(strlen(lines[1]), strlen(lines[2]));
}

static void format_path(const void *key, char *to, size_t size)
{
	snprintf(to, size,
		 "/a/very/long/path/that/no/line/of/80/columns/has/room/for/beside/"
		 "figures/%u",
		 ((const struct plumb_who *)key)->pid);
}

static void paths_are_cut_at_their_beginning(void **state)
{
	static const struct plumb_field fields[] = {
		{.name = "path", .bit = PLUMB_BY_TOOL, .format = format_path}};

	begin_report();
	tool.keys.fields = fields;
	tool.keys.n_fields = 1;
	run.options.by = PLUMB_BY_TOOL;
	add_row("sh", 7654321, 10, 100);
	print();
	assert_true(strlen(lines[0]) > 80); /* it is no path: whole */
	tool.keys.paths = PLUMB_BY_TOOL;
	print();
	assert_int_equal(strlen(lines[0]), 80);
	assert_int_equal(strlen(lines[1]), 80);
	check(!strncmp(lines[1], "...", 3) && strstr(lines[1], "figures/7654321 "), "%s", lines[1]);
	/* But something of it is left. */
	run.options.by |= PLUMB_BY_PID | PLUMB_BY_COMM | PLUMB_BY_PROCESS | PLUMB_BY_TID;
	run.options.n_percentiles = 12;
	for (size_t i = 0; i < run.options.n_percentiles; i++) {
		run.options.percentiles[i].p = 50000000 + i;
		snprintf(run.options.percentiles[i].name, 16, "50.00000%zu", i);
	}
	print();
	assert_true(strlen(lines[1]) > 80);
	assert_int_equal(strlen(cell(1, "PATH")), 24);
}

/* --- rows --- */

static void sorted_by_any_column(void **state)
{
	static const struct {
		const char *column;
		const char *first, *last;
	} orders[] = {
		{NULL, "slow", "many"},   {"calls", "many", "slow"}, {"total", "slow", "many"},
		{"mean", "slow", "many"}, {"max", "slow", "many"},   {"p50", "slow", "many"},
		{"errors", "some", NULL},
	};

	begin_report();
	tool.measure.errors = true;
	add_row("slow", 1, 2, 1000000);
	add_row("some", 2, 10, 2000)->errors = 1;
	add_row("many", 3, 100, 10);
	for (size_t i = 0; i < LENGTH(orders); i++) {
		run.options.sort = orders[i].column;
		print();
		check(!strcmp(cell(1, "COMM"), orders[i].first), "%s: %s",
		      orders[i].column ?: "usual", cell(1, "COMM"));
		if (orders[i].last)
			check(!strcmp(cell(3, "COMM"), orders[i].last), "%s: %s",
			      orders[i].column ?: "usual", cell(3, "COMM"));
	}
	/* It is there to be seen. */
	run.options.sort = "mean";
	print();
	assert_string_equal(cell(1, "MEAN"), "1.00ms");
}

static void hidden_rows_are_told(void **state)
{
	begin_report();
	add_row("a", 1, 30, 100);
	add_row("b", 2, 20, 100);
	add_row("c", 3, 10, 100);
	run.options.top = 2;
	print();
	assert_int_equal(n_lines, 4);
	assert_string_equal(cell(2, "COMM"), "b");
	check(!strncmp(lines[3], "(1 more rows, 16.7 % of all", 27), "%s", lines[3]);
	run.options.top = 0;
	run.options.min_count = 20;
	print();
	assert_string_equal(cell(2, "COMM"), "b");
	check(!strncmp(lines[3], "(1 more rows", 12), "%s", lines[3]);
	run.options.min_count = 10;
	print();
	assert_int_equal(n_lines, 4);
	assert_string_equal(cell(3, "COMM"), "c");
}

static void without_rows_it_says_so(void **state)
{
	begin_report();
	print();
	assert_int_equal(n_lines, 2);
	assert_string_equal(lines[1], "(no calls)");
}

/* Whether the footer, without the ends of its lines, has WORDS if a cost was measured. */
static bool footer_has(double median, double high, const char *words)
{
	char *footer = NULL;
	size_t size;
	FILE *out = open_memstream(&footer, &size);
	bool found;

	run.overhead = (struct plumb_overhead){.known = true,
					       .filtered_known = true,
					       .traced = {0, median, high},
					       .how = "calibrated"};
	plumb_report_footer(&report, out);
	fclose(out);
	for (char *c = footer; (c = strstr(c, "\n    "));)
		memmove(c + 1, c + 5, strlen(c + 5) + 1), *c = ' ';
	found = strstr(footer, words);
	free(footer);
	return found;
}

static void a_bound_that_says_nothing_is_not_printed(void **state)
{
	begin_report();
	assert_true(footer_has(200, 240, "cost at most 240 ns of a traced call"));
	assert_true(footer_has(200, 2000, "cost at most 2000 ns"));
	assert_true(footer_has(200, 14246058, "cost not measured (disturbed)"));
	assert_false(footer_has(200, 14246058, "14246058"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_below_their_headings),
		cmocka_unit_test(units),
		cmocka_unit_test(errors_and_rates_where_there_are_some),
		cmocka_unit_test(names_are_one_word_of_printable_text),
		cmocka_unit_test(rows_beyond_max_keys),
		cmocka_unit_test(paths_are_cut_at_their_beginning),
		cmocka_unit_test(sorted_by_any_column),
		cmocka_unit_test(hidden_rows_are_told),
		cmocka_unit_test(without_rows_it_says_so),
		cmocka_unit_test(a_bound_that_says_nothing_is_not_printed),
	};

	return run_all(tests);
}
