/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "go.h"

#include <stdbool.h>
#include <stdlib.h>
#include <plumb/core/clock.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/go-table.h>

#include "machines.h"

static bool is_same(const struct plumb_unwind_row *a, const struct plumb_unwind_row *b)
{
	return a->how == b->how && a->cfa == b->cfa && a->bp == b->bp;
}

/* From ADDRESS on; false: it is not above the last one. */
static bool append(struct unwind_rows *rows, uint64_t address, struct plumb_unwind_row row)
{
	const struct plumb_unwind_row *last = rows->n ? &rows->all[rows->n - 1] : NULL;

	if (address < rows->base || address - rows->base > UINT32_MAX)
		return false;
	row.pc = address - rows->base;
	if (last && row.pc <= last->pc)
		return false;
	if (!last || !is_same(last, &row))
		*plumb_append(rows->all, rows->n) = row;
	return true;
}

/*
 * x86_64: a function with a frame keeps its caller's frame pointer right below the return address.
 * arm64: the return address is at the bottom of the frame; without one it is in x30.
 */
static struct plumb_unwind_row row_of(const struct unwind_rows *rows,
				      const struct plumb_go_function *f, int64_t size)
{
	struct plumb_unwind_row row = {.how = PLUMB_UNWIND_SP};

	if (f->flags & PLUMB_GO_TOP) {
		row.how = PLUMB_UNWIND_END;
	} else if (f->flags & PLUMB_GO_SP || size % 8 || size < 0 || size / 8 >= INT16_MAX) {
		row.how = PLUMB_UNWIND_OTHER;
	} else if (rows->machine == unwind_row_of_arm64) {
		row.how = size ? PLUMB_UNWIND_SP_ALONE : PLUMB_UNWIND_SP;
		row.cfa = size / 8;
		row.bp = size ? PLUMB_UNWIND_AT_BASE : 0;
	} else {
		row.cfa = size / 8 + 1;
		row.bp = size ? -2 : 0;
	}
	return row;
}

static bool add_function(struct unwind_rows *rows, const struct plumb_go_table *t,
			 const struct plumb_go_function *f)
{
	struct plumb_go_frame frame;
	bool is_there = plumb_go_first(t, f, &frame);

	if (!is_there) /* of assembly, without a frame */
		return append(rows, f->begin, row_of(rows, f, 0));
	for (; is_there && frame.begin < f->end && rows->n < UNWIND_ROWS_MAX;
	     is_there = plumb_go_next(t, &frame))
		if (!append(rows, frame.begin, row_of(rows, f, frame.size)))
			return false;
	return true;
}

/* The row of ROWS that holds at PC. */
static struct plumb_unwind_row row_at(const struct unwind_rows *rows, uint32_t pc)
{
	struct plumb_unwind_row row = {.how = PLUMB_UNWIND_NONE};

	for (size_t i = 0; i < rows->n && rows->all[i].pc <= pc; i++)
		row = rows->all[i];
	return row;
}

/* GO in the place of what ROWS has from the first of its rows to END. */
static void merge(struct unwind_rows *rows, struct unwind_rows *go, uint64_t end)
{
	struct unwind_rows all = {.base = rows->base, .machine = rows->machine};
	const uint32_t first = go->all[0].pc, last = end - rows->base;
	size_t i;

	for (i = 0; i < rows->n && rows->all[i].pc < first; i++)
		*plumb_append(all.all, all.n) = rows->all[i];
	for (i = 0; i < go->n; i++)
		*plumb_append(all.all, all.n) = go->all[i];
	append(&all, end, row_at(rows, last));
	for (i = 0; i < rows->n; i++)
		if (rows->all[i].pc > last)
			append(&all, rows->base + rows->all[i].pc, rows->all[i]);
	free(rows->all);
	free(go->all);
	*rows = all;
}

void unwind_add_go(Elf *elf, struct unwind_rows *rows, uint64_t deadline)
{
	struct unwind_rows go = {.base = rows->base, .machine = rows->machine};
	struct plumb_go_function f = {};
	struct plumb_go_table t;
	bool is_good = plumb_go_table(elf, &t);

	for (size_t i = 0; is_good && i < t.n; i++)
		is_good = plumb_go_function(&t, i, &f) && !unwind_is_late(deadline) &&
			  go.n < UNWIND_ROWS_MAX && add_function(&go, &t, &f);
	if (is_good && go.n && f.end - rows->base <= UINT32_MAX)
		merge(rows, &go, f.end);
	else
		free(go.all);
}
