// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* targets: what one is, and how it is called. */
#include "said.h"
#include <plumb/user/targets.h>

static void kinds_are_told_by_their_beginning(void **state)
{
	assert_int_equal(plumb_target_kind("tcp_sendmsg"), PLUMB_TARGET_FUNCTION);
	assert_int_equal(plumb_target_kind("t"), PLUMB_TARGET_FUNCTION);
	assert_int_equal(plumb_target_kind("udp_sendmsg"), PLUMB_TARGET_FUNCTION);
	assert_int_equal(plumb_target_kind("tcp:t:x"), PLUMB_TARGET_FUNCTION);
	assert_int_equal(plumb_target_kind("t:sched:sched_switch"), PLUMB_TARGET_TRACEPOINT);
	assert_int_equal(plumb_target_kind("u:libc:malloc"), PLUMB_TARGET_USER);
	assert_int_equal(plumb_target_kind("usdt:libc:libc:setjmp"), PLUMB_TARGET_USER);
}

static void forms_that_are_wrong_are_told(void **state)
{
	static const char *const right[] = {
		"tcp_*",   "nf_tables:nft_*",   "[[:alpha:]]*", "t:*:*",
		"t:a:b",   "u:libc:*",          "u:/a/b:c",     "u:a:b::c",
		"k:tcp_*", "k:nf_tables:nft_*", "r:sched_*",    "usdt:libc:*:s?tjmp"};
	static const struct {
		const char *text, *part;
	} wrong[] = {
		{"", "kernel function"},      {":x", "kernel function"},
		{"mod:", "kernel function"},  {"t:", "t:CATEGORY:NAME"},
		{"t:a", "t:CATEGORY:NAME"},   {"t:a:", "t:CATEGORY:NAME"},
		{"t::b", "t:CATEGORY:NAME"},  {"t:a:b:c", "t:CATEGORY:NAME"},
		{"u:", "u:FILE:FUNCTION"},    {"u:libc", "u:FILE:FUNCTION"},
		{"k:", "kernel function"},    {"r:", "r:NAME"},
		{"r:a:b", "r:NAME"},          {"usdt:a:b", "usdt:FILE:PROVIDER:NAME"},
		{"usdt:a::c", "USDT"},        {"usdt:a:b:", "USDT"},
		{"usdt::b:c", "USDT"},        {"usdt:a:b:c:d", "USDT"},
		{"u::f", "u:FILE:FUNCTION"},  {"u:libc:", "u:FILE:FUNCTION"},
		{"./a:f", "u:FILE:FUNCTION"}, {"/a", "u:FILE:FUNCTION"},
	};

	for (size_t i = 0; i < LENGTH(right); i++)
		check(!plumb_target_flaw(right[i]), "%s", right[i]);
	for (size_t i = 0; i < LENGTH(wrong); i++) {
		const char *flaw = plumb_target_flaw(wrong[i].text);

		check(flaw && strstr(flaw, wrong[i].part), "'%s': %s", wrong[i].text,
		      flaw ?: "none");
	}
}

/* Two kernel functions, a tracepoint, two files. */
static struct plumb_function functions[] = {{.name = "tcp_sendmsg"},
					    {.name = "nft_do_chain", .module = "nf_tables"}};
static struct plumb_tracepoint tracepoints[] = {{.category = "sched", .name = "sched_switch"}};
static struct plumb_userfunc in_libc[] = {{.name = "malloc"}, {.name = "free"}};
static struct plumb_userfunc in_program[] = {{.name = "main"}};
static struct plumb_userfuncs files[] = {{.path = "/lib/libc.so.6", .list = in_libc, .n = 2},
					 {.path = "/bin/program", .list = in_program, .n = 1}};
static const struct plumb_targets targets = {
	.functions = {.all = functions, .n = 2},
	.tracepoints = {.list = tracepoints, .n = 1},
	.files = files,
	.n_files = 2,
	.n = 6,
};

static void names_are_by_number(void **state)
{
	static const struct {
		const char *shown, *whole;
		enum plumb_target_kind kind;
	} want[] = {
		{"tcp_sendmsg", "tcp_sendmsg", PLUMB_TARGET_FUNCTION},
		{"nf_tables:nft_do_chain", "nf_tables:nft_do_chain", PLUMB_TARGET_FUNCTION},
		{"t:sched:sched_switch", "t:sched:sched_switch", PLUMB_TARGET_TRACEPOINT},
		{"u:libc.so.6:malloc", "u:/lib/libc.so.6:malloc", PLUMB_TARGET_USER},
		{"u:libc.so.6:free", "u:/lib/libc.so.6:free", PLUMB_TARGET_USER},
		{"u:program:main", "u:/bin/program:main", PLUMB_TARGET_USER},
	};
	char text[128];

	assert_int_equal(plumb_targets_first_of(&targets, 0), 3);
	assert_int_equal(plumb_targets_first_of(&targets, 1), 5);
	assert_int_equal(plumb_targets_first_of(&targets, 2), targets.n);
	for (size_t i = 0; i < LENGTH(want); i++) {
		assert_int_equal(plumb_targets_at(&targets, i).kind, want[i].kind);
		assert_string_equal(plumb_targets_name(&targets, i, false, text, sizeof(text)),
				    want[i].shown);
		assert_string_equal(plumb_targets_name(&targets, i, true, text, sizeof(text)),
				    want[i].whole);
	}
}

static void files_of_one_name_keep_their_paths(void **state)
{
	char text[128];

	files[1].path = "/opt/libc.so.6";
	assert_string_equal(plumb_targets_name(&targets, 3, false, text, sizeof(text)),
			    "u:/lib/libc.so.6:malloc");
	assert_string_equal(plumb_targets_name(&targets, 5, false, text, sizeof(text)),
			    "u:/opt/libc.so.6:main");
	files[1].path = "/bin/program";
}

static void add(struct plumb_targets *all, const char *target)
{
	struct plumb_userfuncs found;

	assert_int_equal(plumb_userfuncs_find(target, &found), 0);
	assert_int_equal(plumb_targets_add_userfuncs(all, &found), 0);
}

/* This program's own functions, by names that overlap. */
static void a_function_is_a_target_once(void **state)
{
	static const char one[] = "/proc/self/exe:plumb_targets_find",
			  glob[] = "/proc/self/exe:plumb_targets_*";
	struct plumb_targets found = {};
	size_t alone;

	add(&found, glob);
	assert_int_equal(plumb_targets_count(&found), 0);
	alone = found.n;
	plumb_targets_free(&found);
	assert_true(alone > 3);
	add(&found, one);
	add(&found, glob);
	add(&found, one);
	assert_int_equal(plumb_targets_count(&found), 0);
	assert_int_equal(found.n, alone);
	assert_int_equal(found.n_files, 1);
	plumb_targets_free(&found);
	assert_int_equal(found.n, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_told_by_their_beginning),
		cmocka_unit_test(forms_that_are_wrong_are_told),
		cmocka_unit_test(names_are_by_number),
		cmocka_unit_test(files_of_one_name_keep_their_paths),
		cmocka_unit_test(a_function_is_a_target_once),
	};

	return run_all(tests);
}
