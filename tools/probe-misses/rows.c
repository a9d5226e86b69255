/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rows.h"
#include <errno.h>
#include <stdlib.h>

static bool has_link(const struct row *row, enum kind kind)
{
	for (size_t i = 0; i < row->n_links; i++)
		if (row->links[i].kind == kind)
			return true;
	return false;
}

/*
 * Uprobes are outside the shared guard since 6.0.  Before 6.6 the kernel does not report which
 * programs are on uprobes.
 */
static bool is_user_probe(const struct row *row)
{
	return has_link(row, KIND_USER) || has_link(row, KIND_USER_MULTI);
}

static enum guard guard_of(const struct row *row)
{
	switch (row->program->type) {
	case BPF_PROG_TYPE_KPROBE:
		return is_user_probe(row) ? GUARD_NONE : GUARD_SHARED;
	case BPF_PROG_TYPE_TRACEPOINT:
	case BPF_PROG_TYPE_PERF_EVENT:
		return GUARD_SHARED;
	case BPF_PROG_TYPE_RAW_TRACEPOINT:
	case BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE:
	case BPF_PROG_TYPE_TRACING:
		return GUARD_OWN;
	default:
		return GUARD_NONE;
	}
}

/* Return whether misses are counted; a number other than 0 proves it. */
static bool is_counted(const struct row *row, bool counted)
{
	const struct program *p = row->program;

	if (p->misses)
		return true;
	switch (p->type) {
	case BPF_PROG_TYPE_KPROBE:
		return counted && !has_link(row, KIND_USER_MULTI);
	case BPF_PROG_TYPE_TRACEPOINT:
		return counted;
	case BPF_PROG_TYPE_PERF_EVENT:
		return false;
	default:
		return row->guard == GUARD_NONE || p->counts_misses;
	}
}

/* Counters only grow.  That of a link or program that is not in the older census began at 0. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void add_links(struct row *row, const struct census *before, bool counted)
{
	const struct attachment *a, *older;

	row->link.known = true;
	if (row->program->type != BPF_PROG_TYPE_KPROBE)
		return;
	row->can_miss_links = !is_user_probe(row);
	/* If it is attached by a perf event without a link, nothing reports its misses. */
	if (row->can_miss_links && !row->n_links)
		row->link.known = false;
	for (a = row->links; a < row->links + row->n_links; a++) {
		if (a->kind == KIND_PERF || (a->kind == KIND_KPROBE && !counted))
			row->link.known = false;
		row->link.ever += a->missed;
		older = census_link(before, a->program, a->id);
		row->link.now += since(a->missed, older ? older->missed : 0);
	}
}

static void make_row(struct row *row, const struct census *now, const struct census *before,
		     const struct program *p, bool counted)
{
	const struct program *older = census_program(before, p->id);

	*row = (struct row){.program = p};
	row->links = census_links(now, p->id, &row->n_links);
	row->guard = guard_of(row);
	row->runs = since(p->runs, older ? older->runs : 0);
	row->run_time = since(p->run_time, older ? older->run_time : 0);
	row->recursion = (struct misses){
		.known = is_counted(row, counted),
		.ever = p->misses,
		.now = since(p->misses, older ? older->misses : 0),
	};
	add_links(row, before, counted);
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->run_time != y->run_time)
		return x->run_time < y->run_time ? 1 : -1;
	if (x->runs != y->runs)
		return x->runs < y->runs ? 1 : -1;
	return (x->program->id > y->program->id) - (x->program->id < y->program->id);
}

static void use_guard(struct rows *r)
{
	struct guard_use *g = &r->shared;

	g->known = true;
	for (const struct row *row = r->all; row < r->all + r->n; row++) {
		if (row->guard != GUARD_SHARED)
			continue;
		/* Rows are sorted by run time: the first ran longest. */
		if (!g->holder && row->run_time)
			g->holder = row;
		g->members++;
		g->run_time += row->run_time;
		g->missed += row->recursion.now;
		g->known = g->known && row->recursion.known;
	}
}

int rows_make(struct rows *r, const struct census *now, const struct census *before, bool counted)
{
	*r = (struct rows){
		.all = calloc(now->n + 1, sizeof(*r->all)),
		.n = now->n,
		.elapsed = now->clock - before->clock,
	};
	if (!r->all)
		return -ENOMEM;
	for (size_t i = 0; i < now->n; i++)
		make_row(&r->all[i], now, before, &now->programs[i], counted);
	for (size_t i = 0; i < before->n; i++)
		r->gone += !census_program(now, before->programs[i].id);
	qsort(r->all, r->n, sizeof(*r->all), by_time);
	use_guard(r);
	return 0;
}

void rows_free(struct rows *r)
{
	free(r->all);
	*r = (struct rows){};
}

bool row_is_idle(const struct row *row)
{
	return !row->runs && !row->recursion.ever && !row->link.ever;
}

static double percent(double part, double whole)
{
	return whole ? 100 * part / whole : 0;
}

double row_cpu_percent(const struct rows *r, const struct row *row)
{
	return percent(row->run_time, r->elapsed);
}

double row_held_percent(const struct rows *r, const struct row *row)
{
	return percent(row->run_time, r->shared.run_time);
}

double row_missed_percent(const struct row *row)
{
	return percent(row->recursion.now, row->runs + row->recursion.now);
}
