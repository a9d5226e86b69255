// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* reports, fuzzed: what hist-merge reads, line by line, as it is and with lines that are good. */
#include "merging/hosts.h"
#include "merging/merge.h"
#include <stdlib.h>
#include <plumb/bpf/hist/hist.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is merged has to agree with itself. */
static void check(const struct merge *m)
{
	uint64_t count = 0;
	size_t n;
	struct merged_row **rows = merge_rows(m, UINT64_MAX, &n);

	for (size_t i = 0; i < n; i++) {
		const struct plumb_dist d = rows[i]->measures[FIRST].dist;
		const double sum = rows[i]->measures[FIRST].sum, all = rows[i]->count;

		if (merge_has(m, FIRST) != (d.n > 0) || (d.n && plumb_dist_count(&d) != all) ||
		    (d.n && (d.min > d.max || sum > all * d.max * 1.001)) ||
		    (d.n && sum < 9e18 && sum * 1.001 < all * d.min) ||
		    (d.n && plumb_percentile(&d, 50 * PLUMB_PERCENT) > d.max))
			abort();
		count += rows[i]->count;
	}
	if (count != m->count || m->pooled > count)
		abort();
	free(rows);
}

/* Exactly as much memory as the text. */
static void take(const uint8_t *text, size_t n, struct line *l, struct merge *m, struct hosts *h)
{
	char *copy = malloc(n + 1);
	size_t at;

	if (!copy)
		exit(1);
	memcpy(copy, text, n);
	memset(copy + n, 0, 1);
	if (line_read(l, copy, &at)) {
		if (at > n)
			abort();
	} else if (!l->is_record && hosts_have_room(h, l) && !merge_add(m, l, l->seq % 3)) {
		hosts_add(h, l);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct merge m = {.max_rows = 4, .blocks = true};
	struct hosts h = {0};
	struct line l = {0};
	const uint8_t *end = data + size, *newline;

	if (size && *data == '2') {
		m.by = (struct merge_by){.keys = {"host", "pid"}, .n = 2, .host = true};
	}
	for (; data < end; data = newline + 1) {
		newline = memchr(data, '\n', end - data) ?: end;
		take(data, newline - data, &l, &m, &h);
	}
	check(&m);
	merge_drop(&m, 1);
	hosts_sum(&h);
	merge_free(&m);
	hosts_free(&h);
	line_free(&l);
	return 0;
}
