/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merging/times.h"
#include "reading/memory.h"
#include <string.h>

/* More times without a report are one result. */
#define MOST_EMPTY 1000

/* Reports are nearly in order: it is found at the end. */
static struct time_of *find_or_make(struct times *t, uint64_t start)
{
	size_t i = t->n;

	while (i && t->all[i - 1].start > start)
		i--;
	if (i && t->all[i - 1].start == start)
		return &t->all[i - 1];
	t->all = room_for_one(t->all, t->n, &t->room, sizeof(*t->all));
	memmove(t->all + i + 1, t->all + i, (t->n++ - i) * sizeof(*t->all));
	t->all[i] = (struct time_of){.start = start};
	return &t->all[i];
}

void times_add(struct times *t, uint64_t start, uint64_t end)
{
	struct time_of *of = find_or_make(t, start);

	of->reports++;
	of->reach = end > of->reach ? end : of->reach;
}

uint64_t times_take(struct times *t, uint64_t start, uint64_t every, uint64_t *reports,
		    bool *has_data)
{
	uint64_t end = start + every;

	*reports = 0;
	*has_data = t->reach > start;
	if (t->n && t->all[0].start == start) {
		*reports = t->all[0].reports;
		*has_data = true;
		t->reach = t->all[0].reach > t->reach ? t->all[0].reach : t->reach;
		memmove(t->all, t->all + 1, --t->n * sizeof(*t->all));
	} else if (!*has_data && t->n && (t->all[0].start - start) / every > MOST_EMPTY) {
		end = t->all[0].start;
	}
	return end;
}

void times_free(struct times *t)
{
	free(t->all);
}
