/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report as a table: numbers on the left, names on the right, guards below. */
#include "report.h"
#include <string.h>
#include <plumb/terminal/text-table.h>

static const char *name_of(const struct row *row)
{
	return *row->program->name ? row->program->name : "(no name)";
}

static bool is_file(const struct attachment *a)
{
	return a->target && (a->kind == KIND_USER || a->kind == KIND_USER_MULTI);
}

/* Files are shown by the last part of their path. */
static const char *short_target(const struct attachment *a)
{
	const char *slash = is_file(a) ? strrchr(a->target, '/') : NULL;

	return slash ? slash + 1 : a->target;
}

static bool is_same(const struct attachment *a, const struct attachment *b)
{
	if (strcmp(a->by, b->by) || !a->target != !b->target)
		return false;
	return !a->target || !strcmp(a->target, b->target);
}

/* "kprobe vfs_read", "kprobe vfs_read and 11 more", by the first of its links. */
static void describe(const struct row *row, char *text, size_t size)
{
	const struct attachment *first = row->links;
	char type[24];
	size_t more = 0;
	int n;

	if (!row->n_links) {
		snprintf(text, size, "%s (no link)",
			 program_type(row->program->type, type, sizeof(type)));
		return;
	}
	for (size_t i = 0; i < row->n_links; i++)
		more += row->links[i].more + (i && !is_same(&row->links[i], first));
	n = snprintf(text, size, "%s%s%s", first->by, first->target ? " " : "",
		     first->target ? short_target(first) : "");
	if (more && n >= 0 && (size_t)n < size)
		snprintf(text + n, size - n, " and %zu more", more);
}

static void add_misses(struct plumb_text_table *g, bool can_miss, const struct misses *m)
{
	if (!m->known)
		plumb_text_table_cell(g, "?");
	else if (can_miss || m->ever)
		plumb_text_table_cell(g, "%llu", (unsigned long long)m->ever);
	else
		plumb_text_table_cell(g, "-");
}

/* Misses in the interval, and their share of what should have run. */
static void add_now(struct plumb_text_table *g, const struct row *row)
{
	if (row->recursion.known) {
		plumb_text_table_cell(g, "%llu", (unsigned long long)row->recursion.now);
		plumb_text_table_cell(g, "%.2f", row_missed_percent(row));
	} else {
		plumb_text_table_cell(g, "?");
		plumb_text_table_cell(g, "?");
	}
}

static void add_row(struct plumb_text_table *g, const struct report *r, const struct row *row)
{
	double seconds = r->rows->elapsed / 1e9;
	char target[512];

	plumb_text_table_cell(g, "%u", row->program->id);
	plumb_text_table_cell(g, "%.0f", seconds ? row->runs / seconds : 0);
	if (row->runs)
		plumb_text_table_cell(g, "%.0f", (double)row->run_time / row->runs);
	else
		plumb_text_table_cell(g, "-");
	plumb_text_table_cell(g, "%.2f", row_cpu_percent(r->rows, row));
	add_misses(g, row->guard != GUARD_NONE, &row->recursion);
	add_misses(g, row->can_miss_links, &row->link);
	describe(row, target, sizeof(target));
	plumb_text_table_cell(g, "%s: %s", name_of(row), target);
}

static void print_time(const struct report *r, FILE *out)
{
	char text[32];
	struct tm tm;

	localtime_r(&r->now->taken.tv_sec, &tm);
	strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fprintf(out, "%s\n", text);
}

void report_rows(const struct report *r, FILE *out)
{
	static const char *const headings[] = {
		">ID", ">RUNS/S", ">NS/RUN", ">%CPU", ">MISSED", ">LINK", "PROGRAM, ATTACHED TO"};
	struct plumb_text_table *g =
		plumb_text_table_new(headings, sizeof(headings) / sizeof(headings[0]));
	size_t idle = 0, shown = 0, hidden = 0;

	if (r->timed)
		print_time(r, out);
	for (const struct row *row = r->rows->all; row < r->rows->all + r->rows->n; row++) {
		if (!r->all && row_is_idle(row)) {
			idle++;
		} else if (r->top && shown == r->top) {
			hidden++;
		} else {
			add_row(g, r, row);
			shown++;
		}
	}
	plumb_text_table_print(g, out);
	plumb_text_table_free(g);
	if (!r->rows->n)
		fputs("(no BPF program is loaded)\n", out);
	if (hidden)
		fprintf(out, "(%zu more)\n", hidden);
	if (idle)
		fprintf(out, "(%zu did not run: -a shows them)\n", idle);
	if (r->rows->gone)
		fprintf(out, "(%zu ended meanwhile)\n", r->rows->gone);
}

/* The program that caused misses is inferred: the kernel only counts misses. */
static void print_culprit(const struct report *r, FILE *out)
{
	const struct guard_use *g = &r->rows->shared;

	if (g->missed && g->holder)
		fprintf(out,
			"  likeliest cause: %u %s, since it held the guard for %.0f %% of\n"
			"  the time that any did (inferred; operations on BPF maps hold it too)\n",
			g->holder->program->id, name_of(g->holder),
			row_held_percent(r->rows, g->holder));
	else if (g->missed)
		fputs("  none of them ran: operations on BPF maps hold it too\n", out);
	if (!g->known)
		fputs("  not all of their misses are counted by this kernel\n", out);
}

static void print_shared(const struct report *r, FILE *out)
{
	static const char *const headings[] = {">ID", ">%HELD", ">MISSED", ">%MISSED", "PROGRAM"};
	const struct guard_use *g = &r->rows->shared;
	struct plumb_text_table *table;

	if (!g->missed && (g->members < 2 || !g->run_time))
		return;
	fprintf(out,
		"\nkprobe guard, of %zu program%s: while one runs, its CPU skips all of them\n",
		g->members, g->members == 1 ? "" : "s");
	table = plumb_text_table_new(headings, sizeof(headings) / sizeof(headings[0]));
	for (const struct row *row = r->rows->all; row < r->rows->all + r->rows->n; row++) {
		if (row->guard != GUARD_SHARED || (!row->run_time && !row->recursion.now))
			continue;
		plumb_text_table_cell(table, "%u", row->program->id);
		plumb_text_table_cell(table, "%.1f", row_held_percent(r->rows, row));
		add_now(table, row);
		plumb_text_table_cell(table, "%s", name_of(row));
	}
	plumb_text_table_print(table, out);
	plumb_text_table_free(table);
	print_culprit(r, out);
}

static void print_own(const struct report *r, FILE *out)
{
	for (const struct row *row = r->rows->all; row < r->rows->all + r->rows->n; row++)
		if (row->guard == GUARD_OWN && row->recursion.now)
			fprintf(out,
				"own guard: %u %s missed %llu (%.2f %%), recursed or preempted\n",
				row->program->id, name_of(row),
				(unsigned long long)row->recursion.now, row_missed_percent(row));
}

void report_footer(const struct report *r, FILE *out)
{
	print_shared(r, out);
	print_own(r, out);
	if (!r->final)
		return;
	fprintf(out, "\nstatistics: %s\n",
		r->on_before ? "already enabled (kernel.bpf_stats_enabled), and left enabled"
			     : "enabled during this run; two clock reads per run of any program");
	fputs("misses: since loaded or attached; ?: not counted, -: nothing to miss\n", out);
}
