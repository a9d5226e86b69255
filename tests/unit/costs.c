// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* costs: what is kept is found again, by the same kernel and CPU, if root alone could write it. */
#include "said.h"
#include <dirent.h>
#include <sys/stat.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>
#include <plumb/cost/costs.h>

static char dir[] = "/tmp/plumb-costs.XXXXXX", cache[64], path[96];

/* A line as probe-cost's. */
static json_t *make_line(void)
{
	json_t *line = plumb_json_new("probe-cost");

	plumb_costs_describe(line);
	json_object_set_new(line, "end", json_string("2026-11-20T11:58:55.874589986Z"));
	json_object_set_new(line, "rows",
			    json_pack("[{s:s,s:s,s:f},{s:s,s:s,s:f},{s:s,s:s}]", "mechanism",
				      "raw_tp", "body", "empty", "ns", 42.5, "mechanism", "raw_tp",
				      "body", "counter", "ns", 44.25, "mechanism", "fentry",
				      "refused", "EPERM"));
	return line;
}

static void save(json_t *line)
{
	assert_int_equal(plumb_costs_begin(), 0);
	assert_int_equal(plumb_costs_end(line), 0);
	json_decref(line);
}

static void write_text(const char *text, size_t size)
{
	FILE *f;

	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0644), 0);
}

static void check_ignored(const char *what)
{
	char date[16];

	check(!plumb_costs_load(NULL, 0, date, sizeof(date)), "%s", what);
}

static void what_is_kept_is_found_again(void **state)
{
	struct plumb_kept_cost costs[] = {{"raw_tp", "counter", 0},
					  {"raw_tp", "empty", 0},
					  {"raw_tp", "histogram", 1},
					  {"fentry", "counter", 1},
					  {NULL, "counter", 1}};
	char date[16];
	struct stat st;

	save(make_line());
	assert_true(plumb_costs_load(costs, LENGTH(costs), date, sizeof(date)));
	assert_true(costs[0].ns == 44.25 && costs[1].ns == 42.5);
	assert_true(!costs[2].ns && !costs[3].ns && !costs[4].ns);
	assert_string_equal(date, "2026-11-20");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
}

static void nothing_else_is_left_there(void **state)
{
	struct dirent *entry;
	DIR *d;

	save(make_line());
	save(make_line());
	d = opendir(cache);
	assert_non_null(d);
	while ((entry = readdir(d)))
		check(*entry->d_name == '.' || !strcmp(entry->d_name, "probe-cost.json"), "%s",
		      entry->d_name);
	closedir(d);
}

static void of_another_host_it_is_ignored(void **state)
{
	static const char *const keys[] = {"schema",         "tool", "kernel",
					   "kernel_version", "arch", "cpu"};

	for (size_t i = 0; i < LENGTH(keys); i++) {
		json_t *line = make_line();

		check(json_is_string(json_object_get(line, keys[i])), "%s", keys[i]);
		json_object_set_new(line, keys[i], json_string("another"));
		save(line);
		check_ignored(keys[i]);
		line = make_line();
		json_object_del(line, keys[i]);
		save(line);
		check_ignored(keys[i]);
	}
}

static void what_others_could_write_is_ignored(void **state)
{
	static const mode_t modes[] = {0664, 0646, 0666, 0622};
	char other[128];

	for (size_t i = 0; i < LENGTH(modes); i++) {
		save(make_line());
		assert_int_equal(chmod(path, modes[i]), 0);
		check_ignored("its mode");
	}
	save(make_line());
	assert_int_equal(chown(path, 65534, 65534), 0);
	check_ignored("its owner");
	save(make_line());
	snprintf(other, sizeof(other), "%s/other", dir);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	check_ignored("a link");
	unlink(other);
	unlink(path);
	assert_int_equal(mkfifo(path, 0644), 0);
	check_ignored("a pipe");
	unlink(path);
	assert_int_equal(mkdir(path, 0755), 0);
	check_ignored("a directory");
	rmdir(path);
	check_ignored("nothing");
}

static void what_is_no_costs_is_ignored(void **state)
{
	static const char *const texts[] = {"",   "{",        "[]",   "null",      "\"probe-cost\"",
					    "{}", "\xff\xfe", "[[[[", "{\"a\":1}", "{\"tool\":{}}"};
	static char much[1 << 20];

	for (size_t i = 0; i < LENGTH(texts); i++) {
		write_text(texts[i], strlen(texts[i]));
		check_ignored(texts[i]);
	}
	memset(much, '[', sizeof(much));
	write_text(much, sizeof(much) / 8);
	check_ignored("deep");
	/* JSON of a megabyte, all of it as it should be but for its size. */
	memset(much, ' ', sizeof(much));
	save(make_line());
	FILE *f = fopen(path, "a");
	assert_non_null(f);
	fwrite(much, 1, sizeof(much), f);
	fclose(f);
	check_ignored("large");
}

static void odd_figures_are_none(void **state)
{
	static const char *const rows[] = {
		"7",
		"{}",
		"[7]",
		"[[]]",
		"[{}]",
		"[{\"mechanism\":\"m\",\"body\":\"b\"}]",
		"[{\"mechanism\":\"m\",\"body\":\"b\",\"ns\":\"5\"}]",
		"[{\"mechanism\":\"m\",\"body\":\"b\",\"ns\":0}]",
		"[{\"mechanism\":\"m\",\"body\":\"b\",\"ns\":-5}]",
		"[{\"mechanism\":\"m\",\"body\":\"b\",\"ns\":1e300}]",
		"[{\"mechanism\":[\"m\"],\"body\":\"b\",\"ns\":5}]",
		"[{\"mechanism\":\"m\",\"body\":null,\"ns\":5}]",
	};
	char date[32];

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct plumb_kept_cost cost = {"m", "b", 1};
		json_t *line = make_line();

		json_object_set_new(line, "rows", json_loads(rows[i], JSON_DECODE_ANY, NULL));
		json_object_set_new(line, "end", json_integer(3));
		save(line);
		assert_true(plumb_costs_load(&cost, 1, date, sizeof(date)));
		check(cost.ns == 0, "%s", rows[i]);
		assert_string_equal(date, "no date");
	}
}

static void to_nothing_nothing_is_kept(void **state)
{
	json_t *line = make_line();

	unlink(path);
	setenv("PLUMB_CACHE", "", 1);
	assert_int_equal(plumb_costs_begin(), 0);
	assert_int_equal(plumb_costs_end(line), 0);
	check_ignored("of nothing");
	setenv("PLUMB_CACHE", cache, 1);
	check_ignored("not there");
	json_decref(line);
}

static void what_cannot_be_kept_is_said(void **state)
{
	const char *text;

	setenv("PLUMB_CACHE", "/proc/self/status", 1);
	listen_to_stderr();
	assert_true(plumb_costs_begin() < 0);
	text = said();
	check(strstr(text, "/proc/self/status/probe-cost.json"), "%s", text);
	setenv("PLUMB_CACHE", cache, 1);
}

static void percents_are_of_one_cpu(void **state)
{
	char text[32];

	assert_true(plumb_cost_percent(100, 1e7) == 100);
	assert_true(plumb_cost_percent(100, 1e5) == 1);
	assert_string_equal(plumb_format_percent(0, text, sizeof(text)), "0.00");
	assert_string_equal(plumb_format_percent(0.0049, text, sizeof(text)), "<0.01");
	assert_string_equal(plumb_format_percent(0.0051, text, sizeof(text)), "0.01");
	assert_string_equal(plumb_format_percent(9.994, text, sizeof(text)), "9.99");
	assert_string_equal(plumb_format_percent(9.996, text, sizeof(text)), "10.0");
	assert_string_equal(plumb_format_percent(99.96, text, sizeof(text)), "100");
	assert_string_equal(plumb_format_percent(395.4, text, sizeof(text)), "395");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_is_found_again),
		cmocka_unit_test(nothing_else_is_left_there),
		cmocka_unit_test(of_another_host_it_is_ignored),
		cmocka_unit_test(what_others_could_write_is_ignored),
		cmocka_unit_test(what_is_no_costs_is_ignored),
		cmocka_unit_test(odd_figures_are_none),
		cmocka_unit_test(to_nothing_nothing_is_kept),
		cmocka_unit_test(what_cannot_be_kept_is_said),
		cmocka_unit_test(percents_are_of_one_cpu),
	};
	int failed;

	if (geteuid()) {
		puts("1..0 # SKIP what is kept is root's");
		return 0;
	}
	if (!mkdtemp(dir))
		return 1;
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	snprintf(path, sizeof(path), "%s/probe-cost.json", cache);
	setenv("PLUMB_CACHE", cache, 1);
	failed = run_all(tests);
	unlink(path);
	rmdir(cache);
	rmdir(dir);
	return failed;
}
