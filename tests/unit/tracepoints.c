// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* tracepoints: names and globs, in a tree made for it and on the running kernel. */
#include "said.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <plumb/functions/tracepoints.h>

/* --- a tree like tracefs --- */

static const struct {
	const char *category, *name;
	unsigned int id; /* 0: no such file, as of a module that has just gone */
} events[] = {
	{"sched", "sched_switch", 11},      {"sched", "sched_waking", 12},
	{"sched", "sched_wakeup", 13},      {"sched", "gone", 0},
	{"scsi", "scsi_eh_wakeup", 21},     {"syscalls", "sys_enter_write", 31},
	{"syscalls", "sys_exit_write", 32}, {"alone", "gone_too", 0},
	{"made", "made_up", 4000000000},
};

static int tree; /* its descriptor */
static char root[] = "/tmp/tracepoints.XXXXXX";

static int make_tree(void **state)
{
	char path[512];
	FILE *list, *f;

	if (!mkdtemp(root) || chdir(root))
		return -1;
	list = fopen("available_events", "w");
	mkdir("events", 0700);
	for (size_t i = 0; list && i < LENGTH(events); i++) {
		fprintf(list, "%s:%s\n", events[i].category, events[i].name);
		if (!events[i].id)
			continue;
		snprintf(path, sizeof(path), "events/%s", events[i].category);
		mkdir(path, 0700);
		snprintf(path, sizeof(path), "events/%s/%s", events[i].category, events[i].name);
		mkdir(path, 0700);
		strcat(path, "/id");
		f = fopen(path, "w");
		if (!f)
			return -1;
		fprintf(f, "%u\n", events[i].id);
		fclose(f);
		strcpy(strrchr(path, '/'), "/enable");
		f = fopen(path, "w");
		if (!f)
			return -1;
		fclose(f);
	}
	if (!list || fclose(list))
		return -1;
	tree = open(root, O_RDONLY | O_DIRECTORY);
	return tree < 0 ? -1 : 0;
}

static int remove_tree(void **state)
{
	char command[64];

	close(tree);
	snprintf(command, sizeof(command), "rm -r %s", root);
	return chdir("/") || system(command);
}

/* The ids of what PATTERN finds, as text: "11,12". */
static const char *ids(const char *pattern)
{
	static char text[256];
	struct plumb_tracepoints found;
	size_t n = 0;

	check(!plumb_tracepoints_find(tree, pattern, &found), "%s", pattern);
	check(found.n > 0, "%s", pattern);
	for (size_t i = 0; i < found.n; i++)
		n += snprintf(text + n, sizeof(text) - n, "%s%u", i ? "," : "", found.list[i].id);
	plumb_tracepoints_free(&found);
	assert_int_equal(found.n, 0);
	return text;
}

static void names_and_globs_find_their_tracepoints(void **state)
{
	struct plumb_tracepoints found;

	assert_string_equal(ids("sched:sched_switch"), "11");
	assert_string_equal(ids("sched:sched_wak*"), "12,13");
	assert_string_equal(ids("sched:*"), "11,12,13");
	assert_string_equal(ids("sc*:*wakeup"), "13,21");
	assert_string_equal(ids("*:sys_[^x]*_write"), "31,32");
	assert_string_equal(ids("syscalls:sys_e????_write"), "31");
	assert_string_equal(ids("*:*"), "11,12,13,21,31,32,4000000000");
	assert_int_equal(plumb_tracepoints_find(tree, "*:made_u?", &found), 0);
	assert_string_equal(found.list[0].category, "made");
	assert_string_equal(found.list[0].name, "made_up");
	plumb_tracepoints_free(&found);
}

/* What is not listed cannot be enabled: of the tree's, what has no such file. */
static void one_name_takes_no_list(void **state)
{
	static const char no_enable[] = "events/made/made_up/enable";

	assert_int_equal(rename("available_events", "away"), 0);
	assert_string_equal(ids("made:made_up"), "4000000000");
	assert_int_equal(rename("away", "available_events"), 0);
	assert_int_equal(rename(no_enable, "away"), 0);
	assert_string_equal(ids("made:made_up"), "4000000000"); /* from the list */
	assert_int_equal(rename("away", no_enable), 0);
}

static void refuses(const char *pattern, int error, const char *words)
{
	struct plumb_tracepoints found;
	const char *text;
	int err;

	listen_to_stderr();
	err = plumb_tracepoints_find(tree, pattern, &found);
	text = said();
	check(strstr(text, words), "'%s' says: %s", pattern, text);
	check(err == -error, "'%s' is %d", pattern, err);
	assert_int_equal(found.n, 0);
	assert_null(found.list);
}

static void what_is_not_there_is_an_error_with_near_names(void **state)
{
	refuses("sched:sched_swich", ENOENT,
		"no such tracepoint: sched:sched_swich; did you mean sched_switch?\n");
	refuses("sched:sched_wakng", ENOENT, "did you mean sched_waking or sched_wakeup?\n");
	refuses("s*:scsi_eh_wakup", ENOENT, "did you mean scsi_eh_wakeup or sched_wakeup?\n");
	refuses("sched:*quota*", ENOENT, "no such tracepoint: sched:*quota*\n");
	refuses("schedd:sched_switch", ENOENT,
		"no such category of tracepoints: schedd; did you mean sched?\n");
	refuses("Sched:sched_switch", ENOENT, "no such category of tracepoints: Sched");
	refuses("quota:*", ENOENT, "no such category of tracepoints: quota\n");
	refuses("alone:gone_too", ENOENT, "no such tracepoint");
	refuses("alone:*", ENOENT, "no such tracepoint");
}

static void what_is_not_category_and_name_is_an_error(void **state)
{
	static const char *const wrong[] = {
		"",     ":",  "sched", "sched:", ":sched", "*", "a:b:c", "sched:sched_switch:",
		"a::b", "::*"};

	for (size_t i = 0; i < LENGTH(wrong); i++)
		refuses(wrong[i], EINVAL, "should be CATEGORY:NAME");
}

static void a_tree_without_a_list_is_an_error(void **state)
{
	int real = tree;

	tree = open("/proc/self", O_RDONLY | O_DIRECTORY);
	refuses("*:*", ENOENT, "the list of tracepoints (tracefs): No such file");
	close(tree);
	tree = real;
}

/* --- the running kernel --- */

static void the_kernels_own_are_found(void **state)
{
	struct plumb_tracepoints one, all;
	int tracefs;

	if (geteuid())
		skip();
	tracefs = plumb_tracefs_open();
	assert_true(tracefs >= 0);
	assert_int_equal(plumb_tracepoints_find(tracefs, "sched:sched_switch", &one), 0);
	assert_int_equal(one.n, 1);
	assert_true(one.list[0].id > 0);
	assert_true(one.list[0].is_raw);
	assert_int_equal(plumb_tracepoints_find(tracefs, "*:*", &all), 0);
	assert_true(all.n > 500);
	for (size_t i = 0; i < all.n; i++) {
		const struct plumb_tracepoint *t = &all.list[i];

		check(t->id > 0, "%s:%s", t->category, t->name);
		check((t->id == one.list[0].id) == !strcmp(t->name, "sched_switch"), "%s has id %u",
		      t->name, t->id);
		check(!t->is_raw || strcmp(t->category, "syscalls"), "%s is raw", t->name);
	}
	plumb_tracepoints_free(&all);
	plumb_tracepoints_free(&one);
	assert_int_equal(plumb_tracepoints_find(tracefs, "syscalls:sys_enter_write", &one), 0);
	assert_int_equal(one.n, 1);
	assert_true(one.list[0].id > 0);
	assert_false(one.list[0].is_raw);
	plumb_tracepoints_free(&one);
	close(tracefs);
}

static const char *mounts(void)
{
	static char text[65536];
	FILE *f = fopen("/proc/self/mounts", "r");

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	return text;
}

static void opening_tracefs_leaves_the_mounts_as_they_are(void **state)
{
	char *before;
	int tracefs;

	if (geteuid())
		skip(); /* it is for root */
	before = strdup(mounts());
	tracefs = plumb_tracefs_open();
	assert_true(tracefs >= 0);
	assert_true(fcntl(tracefs, F_GETFD) & FD_CLOEXEC);
	assert_string_equal(before, mounts());
	close(tracefs);
	free(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: none has opened it yet. */
		cmocka_unit_test(opening_tracefs_leaves_the_mounts_as_they_are),
		cmocka_unit_test(names_and_globs_find_their_tracepoints),
		cmocka_unit_test(one_name_takes_no_list),
		cmocka_unit_test(what_is_not_there_is_an_error_with_near_names),
		cmocka_unit_test(what_is_not_category_and_name_is_an_error),
		cmocka_unit_test(a_tree_without_a_list_is_an_error),
		cmocka_unit_test(the_kernels_own_are_found),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
