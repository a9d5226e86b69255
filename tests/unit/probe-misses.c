/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report.h"
#include "unit.h"

#include <jansson.h>

/*
 * Two programs at a kprobe's guard, one with a guard of its own, one with none; the third has
 * come meanwhile, and one has gone.
 */
static struct program before_programs[] = {
	{.id = 3,
	 .type = BPF_PROG_TYPE_KPROBE,
	 .runs = 100,
	 .run_time = 5000,
	 .misses = 7,
	 .counts_misses = true},
	{.id = 4,
	 .type = BPF_PROG_TYPE_TRACEPOINT,
	 .runs = 10,
	 .run_time = 1000,
	 .counts_misses = true},
	{.id = 5, .type = BPF_PROG_TYPE_XDP, .counts_misses = true},
	{.id = 9, .type = BPF_PROG_TYPE_RAW_TRACEPOINT, .runs = 1, .counts_misses = true},
};

static struct program now_programs[] = {
	{.id = 3,
	 .type = BPF_PROG_TYPE_KPROBE,
	 .name = "often",
	 .runs = 159,
	 .run_time = 15000,
	 .misses = 48,
	 .counts_misses = true},
	{.id = 4,
	 .type = BPF_PROG_TYPE_TRACEPOINT,
	 .name = "long",
	 .runs = 13,
	 .run_time = 31000,
	 .counts_misses = true},
	{.id = 5, .type = BPF_PROG_TYPE_XDP, .name = "idle", .counts_misses = true},
	{.id = 11,
	 .type = BPF_PROG_TYPE_TRACING,
	 .name = "new",
	 .runs = 23,
	 .run_time = 2300,
	 .misses = 2,
	 .counts_misses = true},
};

static struct attachment before_links[] = {
	{.id = 20, .program = 3, .kind = KIND_KPROBE, .by = "kretprobe", .missed = 10},
};

static struct attachment now_links[] = {
	{.id = 20,
	 .program = 3,
	 .kind = KIND_KPROBE,
	 .by = "kretprobe",
	 .target = "vfs_read",
	 .missed = 13},
	{.id = 31,
	 .program = 3,
	 .kind = KIND_KPROBE,
	 .by = "kretprobe",
	 .target = "vfs_write",
	 .missed = 1009},
	{.id = 21, .program = 4, .by = "tracepoint", .target = "sched_switch"},
	{.id = 22, .program = 11, .by = "fentry", .target = "tcp_sendmsg"},
};

static const struct census before = {
	.programs = before_programs,
	.n = LENGTH(before_programs),
	.links = before_links,
	.n_links = LENGTH(before_links),
	.clock = 1000000,
};

static struct census now = {
	.programs = now_programs,
	.n = LENGTH(now_programs),
	.links = now_links,
	.n_links = LENGTH(now_links),
	.clock = 1100000,
};

static const struct row *row_of(const struct rows *r, uint32_t id)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->all[i].program->id == id)
			return &r->all[i];
	fail_msg("no row of program %u", id);
	return NULL;
}

static void rows_are_of_the_interval(void **state)
{
	const struct row *row;
	struct rows r;

	assert_int_equal(rows_make(&r, &now, &before, true), 0);
	assert_int_equal(r.n, 4);
	assert_int_equal(r.gone, 1);
	assert_int_equal(r.elapsed, 100000);
	row = row_of(&r, 3);
	assert_int_equal(row->runs, 59);
	assert_int_equal(row->run_time, 10000);
	assert_true(row->recursion.known);
	assert_int_equal(row->recursion.now, 41);
	assert_int_equal(row->recursion.ever, 48);
	assert_true(row_missed_percent(row) == 41);
	assert_true(row_cpu_percent(&r, row) == 10);
	row = row_of(&r, 11);
	assert_int_equal(row->runs, 23);
	assert_int_equal(row->recursion.now, 2);
	rows_free(&r);
}

static void links_miss_by_themselves(void **state)
{
	struct rows r;

	assert_int_equal(rows_make(&r, &now, &before, true), 0);
	assert_int_equal(row_of(&r, 3)->n_links, 2);
	assert_true(row_of(&r, 3)->can_miss_links);
	assert_true(row_of(&r, 3)->link.known);
	assert_int_equal(row_of(&r, 3)->link.now, 3 + 1009);
	assert_int_equal(row_of(&r, 3)->link.ever, 13 + 1009);
	assert_false(row_of(&r, 4)->can_miss_links);
	assert_int_equal(row_of(&r, 5)->n_links, 0);
	rows_free(&r);
}

static void what_took_longest_is_first(void **state)
{
	static const uint32_t order[] = {4, 3, 11, 5};
	struct rows r;

	assert_int_equal(rows_make(&r, &now, &before, true), 0);
	for (size_t i = 0; i < LENGTH(order); i++)
		assert_int_equal(r.all[i].program->id, order[i]);
	rows_free(&r);
}

static void the_longest_holder_of_the_guard_is_found(void **state)
{
	struct rows r;

	assert_int_equal(rows_make(&r, &now, &before, true), 0);
	assert_int_equal(r.shared.members, 2);
	assert_int_equal(r.shared.run_time, 40000);
	assert_int_equal(r.shared.missed, 41);
	assert_true(r.shared.known);
	assert_int_equal(r.shared.holder->program->id, 4);
	assert_true(row_held_percent(&r, r.shared.holder) == 75);
	assert_int_equal(row_of(&r, 11)->guard, GUARD_OWN);
	assert_int_equal(row_of(&r, 5)->guard, GUARD_NONE);
	rows_free(&r);
}

/* One program of this type that ran, with a link of this kind or none (-1): is that known? */
static bool is_known(uint32_t type, int kind, bool field, bool counted, bool of_link)
{
	struct program p = {.id = 1, .type = type, .runs = 1, .counts_misses = field};
	struct attachment a = {.id = 1, .program = 1, .kind = kind, .by = "by"};
	struct census c = {.programs = &p, .n = 1, .links = &a, .n_links = kind >= 0};
	struct census none = {};
	struct rows r;
	bool known;

	assert_int_equal(rows_make(&r, &c, &none, counted), 0);
	known = of_link ? r.all[0].link.known : r.all[0].recursion.known;
	rows_free(&r);
	return known;
}

static void what_is_not_counted_is_unknown(void **state)
{
	static const struct {
		uint32_t type;
		int kind;
		bool field, counted, recursion, link;
	} cases[] = {
		{BPF_PROG_TYPE_KPROBE, KIND_KPROBE, true, true, true, true},
		{BPF_PROG_TYPE_KPROBE, KIND_KPROBE, true, false, false, false},
		{BPF_PROG_TYPE_KPROBE, KIND_PERF, true, false, false, false},
		{BPF_PROG_TYPE_KPROBE, -1, true, true, true, false},
		{BPF_PROG_TYPE_KPROBE, KIND_USER, true, true, true, true},
		{BPF_PROG_TYPE_KPROBE, KIND_USER_MULTI, true, true, false, true},
		{BPF_PROG_TYPE_TRACEPOINT, KIND_OTHER, true, true, true, true},
		{BPF_PROG_TYPE_TRACEPOINT, KIND_PERF, true, false, false, true},
		{BPF_PROG_TYPE_PERF_EVENT, KIND_OTHER, true, true, false, true},
		{BPF_PROG_TYPE_RAW_TRACEPOINT, KIND_OTHER, true, false, true, true},
		{BPF_PROG_TYPE_TRACING, KIND_OTHER, true, false, true, true},
		{BPF_PROG_TYPE_TRACING, KIND_OTHER, false, false, false, true},
		{BPF_PROG_TYPE_XDP, -1, false, false, true, true},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		check(is_known(cases[i].type, cases[i].kind, cases[i].field, cases[i].counted,
			       false) == cases[i].recursion,
		      "case %zu", i);
		check(is_known(cases[i].type, cases[i].kind, cases[i].field, cases[i].counted,
			       true) == cases[i].link,
		      "case %zu", i);
	}
}

static struct rows rows;

/* The report on these rows, whose misses are COUNTED. */
static struct report report_of(bool counted)
{
	assert_int_equal(rows_make(&rows, &now, &before, counted), 0);
	return (struct report){.rows = &rows, .now = &now, .seq = 1, .final = true};
}

/* The table, after which the rows are freed. */
static char *table_of(const struct report *r)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	report_rows(r, f);
	report_footer(r, f);
	fclose(f);
	rows_free(&rows);
	return text;
}

static void the_table_tells_it_all(void **state)
{
	struct report r = report_of(true);
	char *text = table_of(&r);

	assert_string_equal(
		text,
		"ID  RUNS/S  NS/RUN   %CPU  MISSED  LINK  PROGRAM, ATTACHED TO\n"
		" 4   30000   10000  30.00       0     -  long: tracepoint sched_switch\n"
		" 3  590000     169  10.00      48  1022  often: kretprobe vfs_read and 1 more\n"
		"11  230000     100   2.30       2     -  new: fentry tcp_sendmsg\n"
		"(1 did not run: -a shows them)\n"
		"(1 ended meanwhile)\n"
		"\n"
		"kprobe guard, of 2 programs: while one runs, its CPU skips all of them\n"
		"ID  %HELD  MISSED  %MISSED  PROGRAM\n"
		" 4   75.0       0     0.00  long\n"
		" 3   25.0      41    41.00  often\n"
		"  likeliest cause: 4 long, since it held the guard for 75 % of\n"
		"  the time that any did (inferred; operations on BPF maps hold it too)\n"
		"own guard: 11 new missed 2 (8.00 %), recursed or preempted\n"
		"\n"
		"statistics: enabled during this run; two clock reads per run of any program\n"
		"misses: since loaded or attached; ?: not counted, -: nothing to miss\n");
	free(text);
}

static void where_nothing_is_counted_there_is_no_0(void **state)
{
	struct report r = report_of(false);
	char *text;

	r.top = 1;
	r.on_before = true;
	text = table_of(&r);
	check(strstr(text, " 4   30000   10000  30.00       ?     -  long"), "%s", text);
	check(strstr(text, " 4   75.0       ?        ?  long\n"), "%s", text);
	check(strstr(text, "(2 more)\n"), "%s", text);
	check(strstr(text, "statistics: already enabled"), "%s", text);
	check(strstr(text, "not all of their misses are counted by this kernel\n"), "%s", text);
	free(text);
}

static void what_is_idle_is_shown_if_asked_for(void **state)
{
	struct report r = report_of(true);
	char *text;

	r.all = true;
	text = table_of(&r);
	check(strstr(text, " 5       0       -   0.00       -     -  idle: xdp (no link)\n"), "%s",
	      text);
	check(!strstr(text, "-a shows"), "%s", text);
	free(text);
}

static void json_has_null_for_what_is_unknown(void **state)
{
	struct report r = report_of(false);
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	json_t *j, *programs, *guard;

	assert_int_equal(report_json(&r, f), 0);
	fclose(f);
	j = json_loads(text, 0, NULL);
	programs = json_object_get(j, "programs");
	guard = json_array_get(json_object_get(j, "guards"), 0);
	assert_int_equal(json_array_size(programs), 4);
	assert_true(json_is_null(json_object_get(json_array_get(programs, 0), "recursion_misses")));
	assert_int_equal(json_integer_value(
				 json_object_get(json_array_get(programs, 1), "recursion_misses")),
			 41);
	assert_true(json_is_null(json_object_get(json_array_get(programs, 1), "link_missed")));
	assert_true(json_is_null(json_object_get(guard, "recursion_misses")));
	assert_int_equal(json_integer_value(json_object_get(guard, "likeliest_cause")), 4);
	json_decref(j);
	free(text);
	rows_free(&rows);
}

static void types_have_names(void **state)
{
	char text[24];

	assert_string_equal(program_type(BPF_PROG_TYPE_KPROBE, text, sizeof(text)), "kprobe");
	assert_string_equal(program_type(BPF_PROG_TYPE_TRACING, text, sizeof(text)), "tracing");
	assert_string_equal(program_type(BPF_PROG_TYPE_SYSCALL, text, sizeof(text)), "syscall");
	assert_string_equal(program_type(99, text, sizeof(text)), "type 99");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_of_the_interval),
		cmocka_unit_test(links_miss_by_themselves),
		cmocka_unit_test(what_took_longest_is_first),
		cmocka_unit_test(the_longest_holder_of_the_guard_is_found),
		cmocka_unit_test(what_is_not_counted_is_unknown),
		cmocka_unit_test(the_table_tells_it_all),
		cmocka_unit_test(where_nothing_is_counted_there_is_no_0),
		cmocka_unit_test(what_is_idle_is_shown_if_asked_for),
		cmocka_unit_test(json_has_null_for_what_is_unknown),
		cmocka_unit_test(types_have_names),
	};

	return run_all(tests);
}
