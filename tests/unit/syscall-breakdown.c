// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* syscall-breakdown: a tree of functions has all the time of the stacks that it is made of. */
#include "unit.h"

#include "tree.h"

#include <math.h>

/* Frames are given innermost first, as stacks have them. */
static void add(struct tree *tree, const struct tree_time *time, size_t n, const char *const *names)
{
	struct plumb_frames f = {.n = n, .n_kernel = n};

	for (size_t i = 0; i < n; i++)
		f.text[i] = (char *)names[i];
	tree_add(tree, NULL, &f, time);
}

static struct tree *sample_tree(void)
{
	struct tree *tree = tree_new();

	add(tree, &(struct tree_time){.on_cpu = 700}, 2, (const char *[]){"copy", "read"});
	add(tree, &(struct tree_time){.blocked = 200, .preempted_runq = 50}, 2,
	    (const char *[]){"wait", "read"});
	add(tree, &(struct tree_time){.on_cpu = 40}, 1, (const char *[]){"write"});
	add(tree, &(struct tree_time){.on_cpu = 5}, 2, (const char *[]){"copy", "write"});
	add(tree, &(struct tree_time){.on_cpu = 5}, 0, NULL);
	return tree;
}

static uint64_t number(const json_t *j, const char *name)
{
	return json_integer_value(json_object_get(j, name));
}

/* The branch of that name, directly below. */
static json_t *below(const json_t *j, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach(json_object_get(j, "calls"), i,
			   one) if (!strcmp(json_string_value(json_object_get(one, "function")),
					    name)) return one;
	return NULL;
}

static void a_branch_has_all_that_is_below_it(void **state)
{
	struct tree *tree = sample_tree();
	json_t *j = tree_json(tree), *one;

	assert_int_equal(number(j, "on_cpu"), 750);
	assert_int_equal(number(j, "blocked"), 200);
	assert_int_equal(number(j, "preempted_runq"), 50);
	one = below(j, "read");
	assert_non_null(one);
	assert_int_equal(number(one, "on_cpu"), 700);
	assert_int_equal(number(one, "blocked"), 200);
	assert_int_equal(number(below(one, "copy"), "on_cpu"), 700);
	assert_int_equal(number(below(one, "wait"), "preempted_runq"), 50);
	/* The same function below another one is another branch. */
	one = below(j, "write");
	assert_int_equal(number(one, "on_cpu"), 45);
	assert_int_equal(number(below(one, "copy"), "on_cpu"), 5);
	assert_null(below(one, "wait"));
	json_decref(j);
	tree_free(tree);
}

/* As text, which is good until the next one. */
static char *printed(const struct tree *tree, double percent)
{
	static char text[4096];
	FILE *out = fmemopen(text, sizeof(text), "w");

	tree_print(tree, percent, out);
	fclose(out);
	return text;
}

static void the_table_is_heaviest_first_and_leaves_out_what_is_light(void **state)
{
	static const char *const lines[] = {" all\n", "  read\n", "   copy\n", "   wait\n",
					    "  write\n"};
	struct tree *tree = sample_tree();
	char *text = printed(tree, 1), *at = text;

	for (size_t i = 0; i < LENGTH(lines); i++) {
		at = strstr(at, lines[i]);
		check(at, "%s is not there, or not in its place:\n%s", lines[i], text);
	}
	assert_null(strstr(strstr(text, "write"), "copy"));
	assert_non_null(strstr(text, "\nnot shown: 1 branch of less than 1 % of all\n"));
	text = printed(tree, 0);
	assert_non_null(strstr(strstr(text, "write"), "copy"));
	assert_null(strstr(text, "not shown"));
	text = printed(tree, 5.5);
	assert_non_null(strstr(text, "\nnot shown: 1 branch of less than 5.5 % of all\n"));
	text = printed(tree, 30);
	assert_non_null(strstr(text, "\nnot shown: 2 branches of less than 30 % of all\n"));
	tree_free(tree);
}

static void nothing_is_a_tree_too(void **state)
{
	struct tree *tree = tree_new();
	const char *text = printed(tree, 0.5);

	assert_non_null(strstr(text, "  0.0%"));
	assert_non_null(strstr(text, " all\n"));
	tree_free(tree);
}

static void shares_add_up_to_the_whole(void **state)
{
	uint64_t random = 88172645463325252ULL;

	for (int round = 0; round < 1000; round++) {
		uint64_t whole = next_random(&random) >> (next_random(&random) & 63);
		uint64_t weights[37], among = 0, before = 0, sum = 0, share;

		for (size_t i = 0; i < LENGTH(weights); i++)
			among += weights[i] = next_random(&random) >> 32 >> (i & 31);
		for (size_t i = 0; i < LENGTH(weights); i++) {
			share = tree_share(whole, weights[i], before, among);
			check(share <= (double)whole * weights[i] / among * (1 + 1e-9) + 1 &&
				      share + 1 >= (double)whole * weights[i] / among * (1 - 1e-9),
			      "%llu of %llu by %llu of %llu", (unsigned long long)share,
			      (unsigned long long)whole, (unsigned long long)weights[i],
			      (unsigned long long)among);
			before += weights[i];
			sum += share;
		}
		check(sum == whole, "%llu, not %llu", (unsigned long long)sum,
		      (unsigned long long)whole);
	}
}

/* Of 20 samples in a call 5 are in one of its functions; of another call there is 1. */
static struct tree *sampled_tree(void)
{
	struct plumb_frames copy = {.n = 1, .n_kernel = 1, .text = {"copy"}},
			    fill = {.n = 1, .n_kernel = 1, .text = {"fill"}};
	struct tree *tree = tree_new();

	tree_add(tree, "read", &copy, &(struct tree_time){.on_cpu = 250, .samples = 5});
	tree_add(tree, "read", &fill, &(struct tree_time){.on_cpu = 750, .samples = 15});
	tree_add(tree, "open", &fill, &(struct tree_time){.on_cpu = 50, .samples = 1});
	return tree;
}

/* Wilson's interval as tables have it: 5 of 20 is 11.2 % to 46.9 %, 1 of 1 is 20.7 % to 100 %. */
static void samples_have_an_error_and_what_was_measured_has_none(void **state)
{
	struct tree *tree = sampled_tree();
	json_t *j = tree_json(tree), *read = below(j, "read"), *open = below(j, "open");
	const char *text = printed(tree, 0);

	assert_int_equal(number(j, "on_cpu_low"), 1050);
	assert_int_equal(number(j, "on_cpu_high"), 1050);
	assert_int_equal(number(j, "samples"), 21);
	assert_int_equal(number(read, "on_cpu_low"), 1000);
	assert_int_equal(number(read, "on_cpu_high"), 1000);
	assert_int_equal(number(below(read, "copy"), "on_cpu_low"), 111);
	assert_int_equal(number(below(read, "copy"), "on_cpu_high"), 469);
	assert_int_equal(number(open, "on_cpu_low"), 50);
	assert_int_equal(number(below(open, "fill"), "on_cpu_low"), 10);
	assert_int_equal(number(below(open, "fill"), "on_cpu_high"), 50);
	assert_non_null(strstr(text, "250ns  ±88%        -         -    copy\n"));
	assert_non_null(strstr(text, "50ns  ±80%        -         -    fill\n"));
	assert_non_null(strstr(text, "50ns              -         -   open\n"));
	json_decref(j);
	tree_free(tree);
}

static void bounds_are_wide_where_samples_are_few(void **state)
{
	static const struct {
		uint64_t k, n;
		double low, high;
	} known[] = {
		{0, 0, 0, 1},
		{0, 10, 0, 0.2775},
		{10, 10, 0.7225, 1},
		{1, 1, 0.2065, 1},
		{5, 20, 0.1119, 0.4687},
		{50, 100, 0.4038, 0.5962},
		{1, 100, 0.0018, 0.0545},
		{500, 1000, 0.4691, 0.5309},
	};
	double low, high;

	for (size_t i = 0; i < LENGTH(known); i++) {
		tree_bounds(known[i].k, known[i].n, &low, &high);
		check(fabs(low - known[i].low) < 1e-4 && fabs(high - known[i].high) < 1e-4,
		      "%lu of %lu: %f to %f", known[i].k, known[i].n, low, high);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_branch_has_all_that_is_below_it),
		cmocka_unit_test(the_table_is_heaviest_first_and_leaves_out_what_is_light),
		cmocka_unit_test(nothing_is_a_tree_too),
		cmocka_unit_test(shares_add_up_to_the_whole),
		cmocka_unit_test(samples_have_an_error_and_what_was_measured_has_none),
		cmocka_unit_test(bounds_are_wide_where_samples_are_few),
	};

	return run_all(tests);
}
