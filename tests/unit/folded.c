/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "unit.h"

#include "../../tools/lib/stacks/stacks.h"

static struct plumb_tree tree;

static struct plumb_folded stack(const char *text, uint64_t weight, uint64_t count, uint64_t min,
				 uint64_t max)
{
	return (struct plumb_folded){.leaf = plumb_tree_parse(&tree, text),
				     .weight = weight,
				     .count = count,
				     .max = max,
				     .min = min};
}

static void equal_stacks_are_one(void **state)
{
	struct plumb_folded all[] = {
		stack("a;b", 10, 2, 4, 6),
		stack("a;c", 100, 1, 100, 100),
		stack("a;b", 7, 3, 1, 5),
		stack("a;b", 9, 1, 9, 9),
	};
	size_t n = plumb_folded_merge(&tree, all, LENGTH(all));

	assert_int_equal(n, 2);
	assert_int_equal(all[0].leaf, plumb_tree_parse(&tree, "a;c"));
	assert_int_equal(all[1].leaf, plumb_tree_parse(&tree, "a;b"));
	assert_int_equal(all[1].weight, 26);
	assert_int_equal(all[1].count, 6);
	assert_int_equal(all[1].min, 1);
	assert_int_equal(all[1].max, 9);
	plumb_tree_free(&tree);
}

static void the_heaviest_comes_first_and_equal_ones_by_name(void **state)
{
	struct plumb_folded all[] = {stack("c", 1, 1, 1, 1), stack("a", 1, 1, 1, 1),
				     stack("b", 2, 1, 1, 1)};
	char *text = NULL;
	size_t size, n = plumb_folded_merge(&tree, all, LENGTH(all));
	FILE *f = open_memstream(&text, &size);

	plumb_folded_print(&tree, all, n, f);
	fclose(f);
	assert_string_equal(text, "b 2\na 1\nc 1\n");
	plumb_tree_free(&tree);
	free(text);
}

static void a_frame_is_the_same_only_below_the_same_callers(void **state)
{
	static const char *const texts[] = {"a;b", "b;a", "a", "a_[k]", "a;b;b", "a;b_[k]", ""};

	for (size_t i = 0; i < LENGTH(texts); i++)
		for (size_t j = 0; j < LENGTH(texts); j++)
			assert_int_equal(plumb_tree_parse(&tree, texts[i]) ==
						 plumb_tree_parse(&tree, texts[j]),
					 i == j);
	plumb_tree_free(&tree);
}

/* What is printed is read as it was: also a name that looks as if it had been escaped. */
static void names_are_read_as_they_were_printed(void **state)
{
	static const char *const names[] = {"a;b", "a\\\\x3bb", "a\\\\;b", "a\\x01"};
	struct plumb_folded one = {.weight = 1};
	char *text = NULL;
	size_t size;
	FILE *f;

	for (size_t i = 0; i < LENGTH(names); i++) {
		one.leaf = plumb_tree_add(&tree, 0, names[i], false);
		f = open_memstream(&text, &size);
		plumb_folded_print(&tree, &one, 1, f);
		fclose(f);
		*strrchr(text, ' ') = 0;
		assert_int_equal(plumb_tree_parse(&tree, text), one.leaf);
		free(text);
	}
	plumb_tree_free(&tree);
}

/* More than the tables begin with, so that they grow. */
static void many_frames_are_all_told_apart(void **state)
{
	enum { MANY = 50000 };
	static uint32_t leaves[MANY];
	char text[32];

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < MANY; i++) {
			snprintf(text, sizeof(text), "f%d;g%d;h_[k]", i % 7, i);
			if (!round)
				leaves[i] = plumb_tree_parse(&tree, text);
			assert_int_equal(plumb_tree_parse(&tree, text), leaves[i]);
			assert_true(leaves[i] < tree.n_nodes);
			assert_true(!i || leaves[i] != leaves[i - 1]);
		}
	assert_int_equal(tree.n_nodes, 1 + 7 + 2 * MANY);
	plumb_tree_free(&tree);
}

static void frames_are_in_the_order_of_their_names(void **state)
{
	static const char *const sorted[] = {"a", "a;b", "a;b;z", "a;b_[k]", "a;c", "a b", "b;a"};

	for (size_t i = LENGTH(sorted); i-- > 0;)
		plumb_tree_parse(&tree, sorted[i]);
	for (size_t i = 0; i + 1 < LENGTH(sorted); i++)
		assert_true(plumb_tree_compare(&tree, plumb_tree_parse(&tree, sorted[i]),
					       plumb_tree_parse(&tree, sorted[i + 1])) < 0);
	plumb_tree_free(&tree);
}

static void nothing_is_nothing(void **state)
{
	assert_int_equal(plumb_folded_merge(&tree, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_one),
		cmocka_unit_test(the_heaviest_comes_first_and_equal_ones_by_name),
		cmocka_unit_test(a_frame_is_the_same_only_below_the_same_callers),
		cmocka_unit_test(names_are_read_as_they_were_printed),
		cmocka_unit_test(many_frames_are_all_told_apart),
		cmocka_unit_test(frames_are_in_the_order_of_their_names),
		cmocka_unit_test(nothing_is_nothing),
	};

	return run_all(tests);
}
