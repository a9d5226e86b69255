// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* func-count: what a target is, how it is called, and what it costs. */
#include "said.h"
#include "cost.h"
#include "targets.h"
#include <errno.h>

static void kinds_are_told_by_their_beginning(void **state)
{
	(void)state;
	assert_int_equal(target_kind("tcp_sendmsg"), TARGET_FUNCTION);
	assert_int_equal(target_kind("t"), TARGET_FUNCTION);
	assert_int_equal(target_kind("udp_sendmsg"), TARGET_FUNCTION);
	assert_int_equal(target_kind("tcp:t:x"), TARGET_FUNCTION);
	assert_int_equal(target_kind("t:sched:sched_switch"), TARGET_TRACEPOINT);
	assert_int_equal(target_kind("u:libc:malloc"), TARGET_USER);
}

static void forms_that_are_wrong_are_told(void **state)
{
	static const char *const right[] = {"tcp_*", "nf_tables:nft_*", "[[:alpha:]]*", "t:*:*",
					    "t:a:b", "u:libc:*",        "u:/a/b:c",     "u:a:b::c"};
	static const struct {
		const char *text, *part;
	} wrong[] = {
		{"", "kernel function"},     {":x", "kernel function"},
		{"mod:", "kernel function"}, {"t:", "t:CATEGORY:NAME"},
		{"t:a", "t:CATEGORY:NAME"},  {"t:a:", "t:CATEGORY:NAME"},
		{"t::b", "t:CATEGORY:NAME"}, {"t:a:b:c", "t:CATEGORY:NAME"},
		{"u:", "u:FILE:FUNCTION"},   {"u:libc", "u:FILE:FUNCTION"},
		{"u::f", "u:FILE:FUNCTION"}, {"u:libc:", "u:FILE:FUNCTION"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(right); i++)
		check(!target_flaw(right[i]), "%s", right[i]);
	for (size_t i = 0; i < LENGTH(wrong); i++) {
		const char *flaw = target_flaw(wrong[i].text);

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
static const struct targets targets = {
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
		enum target_kind kind;
	} want[] = {
		{"tcp_sendmsg", "tcp_sendmsg", TARGET_FUNCTION},
		{"nf_tables:nft_do_chain", "nf_tables:nft_do_chain", TARGET_FUNCTION},
		{"t:sched:sched_switch", "t:sched:sched_switch", TARGET_TRACEPOINT},
		{"u:libc.so.6:malloc", "u:/lib/libc.so.6:malloc", TARGET_USER},
		{"u:libc.so.6:free", "u:/lib/libc.so.6:free", TARGET_USER},
		{"u:program:main", "u:/bin/program:main", TARGET_USER},
	};
	char text[128];

	(void)state;
	assert_int_equal(targets_first_of(&targets, 0), 3);
	assert_int_equal(targets_first_of(&targets, 1), 5);
	assert_int_equal(targets_first_of(&targets, 2), targets.n);
	for (size_t i = 0; i < LENGTH(want); i++) {
		assert_int_equal(targets_kind(&targets, i), want[i].kind);
		assert_string_equal(targets_name(&targets, i, false, text, sizeof(text)),
				    want[i].shown);
		assert_string_equal(targets_name(&targets, i, true, text, sizeof(text)),
				    want[i].whole);
	}
}

static void files_of_one_name_keep_their_paths(void **state)
{
	char text[128];

	(void)state;
	files[1].path = "/opt/libc.so.6";
	assert_string_equal(targets_name(&targets, 3, false, text, sizeof(text)),
			    "u:/lib/libc.so.6:malloc");
	assert_string_equal(targets_name(&targets, 5, false, text, sizeof(text)),
			    "u:/opt/libc.so.6:main");
	files[1].path = "/bin/program";
}

/* This program's own functions, by names that overlap. */
static void a_function_is_a_target_once(void **state)
{
	const char *path = "/proc/self/exe";
	char one[512], glob[512];
	const char *const patterns[] = {one, glob, one};
	struct targets found;
	size_t alone;

	(void)state;
	snprintf(one, sizeof(one), "u:%s:cost_verdict", path);
	snprintf(glob, sizeof(glob), "u:%s:cost_*", path);
	assert_int_equal(targets_find(&found, patterns + 1, 1, NULL), 0);
	alone = found.n;
	targets_free(&found);
	assert_true(alone > 3);
	assert_int_equal(targets_find(&found, patterns, 3, NULL), 0);
	assert_int_equal(found.n, alone);
	assert_int_equal(found.n_files, 1);
	targets_free(&found);
	assert_int_equal(found.n, 0);
}

static void what_is_missing_is_told(void **state)
{
	const char *const patterns[] = {"u:/proc/self/exe:no_such_function"};
	struct targets found;

	(void)state;
	listen_to_stderr();
	assert_int_equal(targets_find(&found, patterns, 1, NULL), -ENOENT);
	check(strstr(said(), "no_such_function"), "it is named");
	assert_int_equal(found.n, 0);
}

static void verdicts_have_their_bounds(void **state)
{
	(void)state;
	assert_string_equal(cost_verdict(0), "go");
	assert_string_equal(cost_verdict(9999.9), "go");
	assert_string_equal(cost_verdict(10000), "mind");
	assert_string_equal(cost_verdict(100000), "mind");
	assert_string_equal(cost_verdict(100000.1), "filter");
}

/* In this order: each finds what the one before has left. */
static void what_is_measured_replaces_what_is_published(void **state)
{
	double ns[MECHANISMS] = {[FENTRY] = 50, [KPROBE_MULTI] = -1, [KPROBE] = 120};

	(void)state;
	assert_true(costs[FENTRY].ns == 5.9 && costs[FENTRY].source == PUBLISHED);
	assert_ptr_equal(cost_extreme(TARGET_FUNCTION, false), &costs[FENTRY]);
	assert_ptr_equal(cost_extreme(TARGET_FUNCTION, true), &costs[KPROBE]);
	cost_measured(ns);
	assert_true(costs[FENTRY].ns == 50 && costs[FENTRY].source == MEASURED);
	assert_true(costs[KPROBE].ns == 120 && costs[KPROBE].source == MEASURED);
	/* Not here, while others of its kind are. */
	assert_true(costs[KPROBE_MULTI].ns == 0);
	/* Of another kind nothing was measured. */
	assert_true(costs[TRACEPOINT].ns == 11.8 && costs[TRACEPOINT].source == PUBLISHED);
	assert_ptr_equal(cost_extreme(TARGET_FUNCTION, true), &costs[KPROBE]);
}

static void what_was_kept_stays(void **state)
{
	static const bool there_is[TARGET_KINDS] = {[TARGET_TRACEPOINT] = true};
	double ns[MECHANISMS] = {[RAW_TRACEPOINT] = 60, [TRACEPOINT] = 90};
	json_t *kept = json_pack("{s:s,s:[{s:s,s:s,s:f},{s:s,s:s,s:f},{s:s,s:s}]}", "end",
				 "2026-11-20T11:58:55Z", "rows", "mechanism", "raw_tp", "body",
				 "empty", "ns", 3.0, "mechanism", "raw_tp", "body", "counter", "ns",
				 4.5, "mechanism", "tracepoint", "refused", "EPERM");
	char *text;
	size_t size;
	FILE *f;

	(void)state;
	assert_non_null(kept);
	cost_take_kept(kept);
	json_decref(kept);
	assert_true(costs[RAW_TRACEPOINT].ns == 4.5 && costs[RAW_TRACEPOINT].source == KEPT);
	assert_true(costs[TRACEPOINT].ns == 0);
	cost_measured(ns);
	assert_true(costs[RAW_TRACEPOINT].ns == 4.5 && costs[RAW_TRACEPOINT].source == KEPT);
	assert_true(costs[TRACEPOINT].ns == 90 && costs[TRACEPOINT].source == MEASURED);
	assert_string_equal(cost_how(&costs[RAW_TRACEPOINT]), "probe-cost");
	f = open_memstream(&text, &size);
	cost_print(there_is, f);
	fclose(f);
	check(strstr(text, "measured by probe-cost on 2026-11-20:\n  raw_tracepoint 5ns\n"), "%s",
	      text);
	check(strstr(text, "measured here:\n  tracepoint 90ns\n"), "%s", text);
	check(!strstr(text, "published"), "%s", text);
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_told_by_their_beginning),
		cmocka_unit_test(forms_that_are_wrong_are_told),
		cmocka_unit_test(names_are_by_number),
		cmocka_unit_test(files_of_one_name_keep_their_paths),
		cmocka_unit_test(a_function_is_a_target_once),
		cmocka_unit_test(what_is_missing_is_told),
		cmocka_unit_test(verdicts_have_their_bounds),
		cmocka_unit_test(what_is_measured_replaces_what_is_published),
		cmocka_unit_test(what_was_kept_stays),
	};

	return run_all(tests);
}
