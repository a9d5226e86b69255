// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* skb-alloc: columns of bytes. */
#include "unit.h"
#include <plumb/core/report.h>

/* The table's columns where rows are sorted by NAME. */
static const char *columns_sorted_by(const char *name)
{
	static char text[256];
	struct plumb_tool tool = {.measure = {.kind = PLUMB_SIZES, .errors = true}};
	const struct plumb_run run = {.tool = &tool, .options.sort = name};
	struct plumb_row row = {.slot = 1, .count = 1, .sum = 100};
	struct plumb_snapshot one = {.rows = &row, .n = 1};
	struct plumb_report r = {.run = &run, .snap = &one};
	FILE *out = fmemopen(text, sizeof(text), "w");

	plumb_report_table(&r, out);
	fclose(out);
	text[strcspn(text, "\n")] = 0;
	return text;
}

static void the_sum_of_sizes_is_called_bytes(void **state)
{
	assert_string_equal(columns_sorted_by("bytes"), "CALLS RATE/S BYTES MAX");
	assert_string_equal(columns_sorted_by("min"), "CALLS RATE/S BYTES MIN MAX");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sum_of_sizes_is_called_bytes),
	};

	return run_all(tests);
}
