// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* inflight: which threads are listed, how old their calls are, and what is not known of them. */
#include "made-report.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/json.h>
#include <plumb/core/part.h>
#include <plumb/core/run.h>
#include <plumb/inflight/inflight.h>

#define MS 1000000ULL

static struct plumb_flights flights;

static void format(const struct plumb_run *run, const struct plumb_flight *f, char *text,
		   size_t size)
{
	snprintf(text, size, "call-%" PRIu64, f->what);
}

static bool hides, finds;

static bool find(const struct plumb_run *run, struct plumb_flight *f)
{
	f->hidden = hides;
	f->what = 7;
	return finds && !hides;
}

static struct plumb_inflight inflight;

/* A trace from 1 s to 2 s, whose list is of 2 s. */
static void begin_flights(void)
{
	begin_report();
	inflight = (struct plumb_inflight){
		.heading = "CALL", .json = "call", .name = format, .find = find, .proc = "syscall"};
	tool.inflight = &inflight;
	free(flights.all);
	flights = (struct plumb_flights){.began = 1000 * MS, .taken = 2000 * MS};
	report.flights = &flights;
}

static void add(uint32_t tid, uint64_t start)
{
	const struct plumb_flight one = {.start = start, .pid = getpid(), .tid = tid, .what = tid};

	plumb_flights_add(&flights, &one);
}

/* --- ages --- */

static void ages(void **state)
{
	begin_flights();
	add(1, 500 * MS); /* before the trace */
	add(2, 1900 * MS);
	add(3, 0);         /* not known */
	add(4, 2500 * MS); /* after the list was made */
	add(5, 1100 * MS);
	flights.all[4].end = 1400 * MS;
	assert_int_equal(plumb_flight_age(&flights, &flights.all[0]), 1500 * MS);
	assert_int_equal(plumb_flight_traced(&flights, &flights.all[0]), 1000 * MS);
	assert_int_equal(plumb_flight_age(&flights, &flights.all[1]), 100 * MS);
	assert_int_equal(plumb_flight_traced(&flights, &flights.all[1]), 100 * MS);
	assert_int_equal(plumb_flight_age(&flights, &flights.all[2]), 0);
	assert_int_equal(plumb_flight_age(&flights, &flights.all[3]), 0);
	assert_int_equal(plumb_flight_age(&flights, &flights.all[4]), 300 * MS);
	assert_int_equal(plumb_flights_oldest(&flights), 1500 * MS);
}

/* --- in JSON --- */

static const char *member(const json_t *json, size_t i, const char *name)
{
	static char *text;

	free(text);
	text = json_dumps(
		json_object_get(json_array_get(json_object_get(json, "in_flight"), i), name),
		JSON_ENCODE_ANY | JSON_COMPACT);
	return text ?: "";
}

static const char *shown(const json_t *json, const char *name)
{
	static char *text;

	free(text);
	text = json_dumps(json_object_get(json, name), JSON_ENCODE_ANY | JSON_COMPACT);
	return text ?: "";
}

static void in_json_what_is_not_known_is_null(void **state)
{
	json_t *j = json_object();

	begin_flights();
	prctl(PR_SET_NAME, "a\"\xff b");
	add(getpid(), 500 * MS);
	flights.all[0].before = true;
	add(getpid(), 1900 * MS);
	add(getpid(), 1500 * MS);
	flights.all[2].at_least = true;
	add(getpid(), 0);
	flights.unlisted = 2;
	plumb_flights_json(j, &report);
	assert_string_equal(member(j, 0, "age_ns"), "1500000000");
	assert_string_equal(member(j, 0, "since_before"), "true");
	assert_string_equal(member(j, 0, "comm"), "\"a\\\"\\\\xff b\"");
	assert_string_equal(member(j, 1, "since_before"), "false");
	assert_string_equal(member(j, 1, "age_is_least"), "false");
	assert_string_equal(member(j, 2, "since_before"), "null");
	assert_string_equal(member(j, 2, "age_is_least"), "true");
	assert_string_equal(member(j, 3, "age_ns"), "null");
	assert_string_equal(member(j, 3, "since_before"), "null");
	assert_string_equal(shown(j, "in_flight_not_listed"), "2");
	assert_string_equal(shown(j, "in_flight_complete"), "false");
	json_decref(j);
}

static void in_json_a_long_list_is_cut(void **state)
{
	json_t *j = json_object();

	begin_flights();
	inflight.name = NULL;
	for (uint32_t i = 0; i < 4100; i++)
		add(i + 1, 1500 * MS);
	plumb_flights_json(j, &report);
	assert_int_equal(json_array_size(json_object_get(j, "in_flight")), 4096);
	assert_string_equal(member(j, 4095, "call"), "4096"); /* a number: it has no name */
	assert_string_equal(shown(j, "in_flight_not_listed"), "4");
	assert_string_equal(shown(j, "in_flight_complete"), "true");
	json_decref(j);
}

/* --- below a table --- */

static const char *printed(void (*print)(const struct plumb_report *r, FILE *out))
{
	static char *text;
	size_t size;
	FILE *out;

	free(text);
	out = open_memstream(&text, &size);
	print(&report, out);
	fclose(out);
	return text;
}

static bool says(const char *what)
{
	return strstr(printed(plumb_flights_print), what);
}

static void marks_are_explained_where_they_are(void **state)
{
	begin_flights();
	assert_string_equal(printed(plumb_flights_print), ""); /* nothing is in flight */
	add(1, 1900 * MS);
	check(says("in flight: 1\n") && says("100ms ") && says("call-1\n"), "%s",
	      printed(plumb_flights_print));
	assert_false(says("*:") || says(">:") || says("?:") || says("exceeds"));
	flights.all[0].before = true;
	assert_true(says("100ms*") && says("\n*: since before the trace\n"));
	flights.all[0].at_least = true;
	assert_true(says(">100ms*") && says("\n>: at least"));
	add(2, 0);
	assert_true(says("?") && says("\n?: this mechanism"));
	/* Marks of rows that are not printed are not explained. */
	flights.all[0] = (struct plumb_flight){.start = 1900 * MS, .pid = 1, .tid = 1};
	run.options.top = 1;
	assert_true(says("in flight: 2, the oldest 1:\n"));
	assert_false(says("?:"));
}

static void a_call_that_is_older_than_all_that_ended(void **state)
{
	begin_flights();
	add_row("sh", 1, 5, 50 * MS);
	add(1, 1900 * MS);
	assert_true(says("the oldest exceeds MAX"));
	assert_string_equal(printed(plumb_flights_print_oldest),
			    ", the oldest after 100ms, longer than all that had");
	rows[0].dist.max = 200 * MS;
	assert_false(says("the oldest exceeds MAX"));
	assert_string_equal(printed(plumb_flights_print_oldest), ", the oldest after 100ms");
}

static void what_may_be_missing_is_told(void **state)
{
	begin_flights();
	flights.cut = true;
	assert_true(says("there may be more"));
	flights.cut = false;
	flights.hidden = 12;
	assert_true(says("12 threads could not be inspected: "));
	flights.hidden = 0;
	flights.unlisted = 3;
	assert_true(says("3 more may be in flight"));
}

/* --- in /proc --- */

/* All threads of a process, which is older than the trace or not. */
static void threads_are_found(void **state)
{
	const struct plumb_in_flight *part;
	uint64_t before = plumb_now();
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	begin_flights();
	part = plumb_parts_in_flight(&tool);
	assert_non_null(part);
	run.options.pids[run.options.n_pids++] = child;
	finds = true;
	flights.began = plumb_now() + 1000 * MS; /* ticks of /proc are 10 ms */
	part->find(&run, &flights, true);
	assert_int_equal(flights.n, 1);
	assert_int_equal(flights.all[0].tid, child);
	assert_true(flights.all[0].before && flights.searched && !flights.cut);
	/* It is asked again, and has left the call. */
	finds = false;
	part->find(&run, &flights, true);
	assert_int_equal(flights.n, 0);

	/* A younger one began nothing before the trace. */
	finds = true;
	part->free(&flights);
	flights.began = before - 1000 * MS;
	part->find(&run, &flights, true);
	assert_int_equal(flights.n, 0);

	part->free(&flights);
	flights.began = plumb_now() + 1000 * MS;
	hides = true;
	part->find(&run, &flights, true);
	assert_int_equal(flights.n, 0);
	assert_int_equal(flights.hidden, 1);
	hides = false;
	/* Of a command, all began in the trace. */
	part->free(&flights);
	run.child = child;
	part->find(&run, &flights, true);
	assert_int_equal(flights.n, 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ages),
		cmocka_unit_test(in_json_what_is_not_known_is_null),
		cmocka_unit_test(in_json_a_long_list_is_cut),
		cmocka_unit_test(marks_are_explained_where_they_are),
		cmocka_unit_test(a_call_that_is_older_than_all_that_ended),
		cmocka_unit_test(what_may_be_missing_is_told),
		cmocka_unit_test(threads_are_found),
	};

	return run_all(tests);
}
