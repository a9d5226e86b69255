/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report of rows that are stacks: as table, folded lines, flame graph, JSON. */
#include "stacks.h"

#include <ctype.h>
#include <errno.h>
#include <plumb/cli.h>
#include <plumb/flame.h>
#include <plumb/json.h>
#include <plumb/log.h>
#include <plumb/report.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#define TOP 20

/* Of a key, as text: a cgroup's path may be long. */
#define FIELD 4096

/* What rows take of a CPU, in all (snapshot.c). */
#define MAX_TOTALS (128ULL << 20)

bool plumb_stacks_weigh_time;

static struct {
	bool folded;
	const char *flame;
	uint64_t max;
} options = {.max = 16384};

/* As many rows as stacks, where memory allows. */
static uint64_t default_max_keys(void)
{
	uint64_t most = MAX_TOTALS / sizeof(struct plumb_totals) / libbpf_num_possible_cpus();

	return options.max < most ? options.max : most;
}

int plumb_stacks_parse(int key, char *text, struct plumb_options *o)
{
	switch (key) {
	case PLUMB_STACK_FOLDED:
		options.folded = true;
		return 0;
	case PLUMB_STACK_FLAME:
		options.flame = text;
		return 0;
	case PLUMB_STACK_INLINES:
		plumb_stacks_inlines = true;
		return 0;
	case PLUMB_STACK_MAX:
		options.max = plumb_option_number("--max-stacks", text, 1, PLUMB_MAX_STACKS);
		return 0;
	case ARGP_KEY_END:
		if (options.folded && o->json)
			plumb_usage_error("--folded is text, --json is not: one of them");
		if (options.flame && !*options.flame)
			plumb_usage_error("--flame: a file is needed");
		if (!o->max_keys_given)
			o->max_keys = default_max_keys();
		if (!o->top)
			o->top = TOP;
		o->by |= PLUMB_BY_STACK;
		plumb_stacks_begin();
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void plumb_stacks_configure(struct bpf_object *object)
{
	bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "plumb_stacks"), options.max);
}

static bool has_key(const struct plumb_session *s)
{
	return s->options.by & ~PLUMB_BY_STACK;
}

/* "1234-nginx" */
static void print_key(const struct plumb_session *s, const void *key, FILE *out)
{
	const struct plumb_field *field;
	const char *before = "";
	char value[FIELD];

	for (size_t i = 0; (field = plumb_field_at(s->tool, i)); i++) {
		if (!(s->options.by & field->bit))
			continue;
		field->format(key, value, sizeof(value));
		for (char *c = value; *c; c++)
			if (*c == ';' || iscntrl((unsigned char)*c))
				*c = *c == ';' ? ':' : '?';
		fprintf(out, "%s%s", before, value);
		before = "-";
	}
}

/* The key, and then the frames, outermost first. */
static char *fold(const struct plumb_session *s, const struct plumb_row *row)
{
	const char *before = has_key(s) ? ";" : "";
	struct plumb_frames f;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	if (!row->slot) {
		fputs("[other]", out);
	} else {
		print_key(s, row->key, out);
		plumb_frames_name(&f, s->instance.bpf.object, row->key);
		for (size_t i = f.n; i-- > 0; before = ";")
			fprintf(out, "%s%s%s", before, f.text[i], i < f.n_kernel ? "_[k]" : "");
		plumb_frames_free(&f);
	}
	if (fclose(out))
		abort();
	return text;
}

/* Rows whose addresses differ may say the same in words: these are one. */
static struct plumb_folded *fold_all(const struct plumb_session *s,
				     const struct plumb_snapshot *snap, size_t *n)
{
	struct plumb_folded *all = calloc(snap->n ?: 1, sizeof(*all));

	if (!all)
		abort();
	for (size_t i = 0; i < snap->n; i++) {
		const struct plumb_row *row = &snap->rows[i];

		all[i] = (struct plumb_folded){
			.text = fold(s, row),
			.weight = plumb_stacks_weigh_time ? row->sum : row->count,
			.count = row->count,
			.max = row->dist.max,
			.min = row->dist.min,
			.row = row,
		};
	}
	*n = plumb_folded_merge(all, snap->n);
	return all;
}

static void free_all(struct plumb_folded *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(all[i].text);
	free(all);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static void print_figures(const struct plumb_folded *f, uint64_t whole, FILE *out)
{
	char time[32], min[32], max[32];

	if (plumb_stacks_weigh_time)
		fprintf(out, "%8s %5.1f%% %8llu x, %s to %s: ",
			plumb_format_time(f->weight, PLUMB_AUTO, time, sizeof(time)),
			percent(f->weight, whole), (unsigned long long)f->count,
			plumb_format_time(f->min, PLUMB_AUTO, min, sizeof(min)),
			plumb_format_time(f->max, PLUMB_AUTO, max, sizeof(max)));
	else
		fprintf(out, "%8llu %5.1f%%: ", (unsigned long long)f->weight,
			percent(f->weight, whole));
}

/* Innermost first, as debuggers have it; a line between the kernel's and the user's. */
static void print_frames(const char *frames, FILE *out)
{
	static const char mark[] = "_[k]";
	char *copy = strdup(frames), *frame;
	bool was_kernel = false, is_kernel;
	size_t length;

	if (!copy)
		abort();
	for (; *copy; *frame = 0) {
		frame = strrchr(copy, ';') ?: copy;
		length = strlen(frame);
		is_kernel = length >= strlen(mark) && !strcmp(frame + length - strlen(mark), mark);
		if (is_kernel)
			frame[length - strlen(mark)] = 0;
		else if (was_kernel)
			fputs("    --\n", out);
		was_kernel = is_kernel;
		fprintf(out, "    %s\n", frame + (*frame == ';'));
	}
	free(copy);
}

static void print_stack(const struct plumb_folded *f, uint64_t whole, bool key, FILE *out)
{
	int length = key || !f->row->slot ? strcspn(f->text, ";") : 0;

	print_figures(f, whole, out);
	fprintf(out, "%.*s\n", length, f->text);
	print_frames(f->text + length + (f->text[length] == ';'), out);
}

static void print_table(const struct plumb_report *r, const struct plumb_folded *all, size_t n,
			FILE *out)
{
	uint64_t whole = 0, rest = 0, top = r->session->options.top;

	if (r->session->options.interval)
		plumb_report_time(r, out);
	for (size_t i = 0; i < n; i++)
		whole += all[i].weight;
	for (size_t i = 0; i < n && i < top; i++)
		print_stack(&all[i], whole, has_key(r->session), out);
	for (size_t i = top; i < n; i++)
		rest += all[i].weight;
	if (n > top)
		fprintf(out, "%5.1f%% in %zu more stacks: --top=N shows more\n",
			percent(rest, whole), n - top);
	if (!n)
		fputs("(no stacks)\n", out);
	if (r->final)
		plumb_report_footer(r, out);
}

int plumb_stacks_print(struct plumb_report *r)
{
	size_t n;
	struct plumb_folded *all = fold_all(r->session, r->snap, &n);

	if (options.folded)
		plumb_folded_print(all, n, stdout);
	else
		print_table(r, all, n, stdout);
	free_all(all, n);
	return 0;
}

int plumb_stacks_save(const struct plumb_session *s, const struct plumb_snapshot *total,
		      uint64_t elapsed)
{
	struct plumb_folded *all;
	char title[128];
	size_t n;
	int err;

	if (!options.flame)
		return 0;
	all = fold_all(s, total, &n);
	snprintf(title, sizeof(title), "%s, %.3g s", s->tool->name, elapsed / 1e9);
	err = plumb_flame_write(
		options.flame,
		&(struct plumb_flame){title, plumb_stacks_weigh_time ? "ns" : "samples"}, all, n);
	free_all(all, n);
	return err;
}

void plumb_stacks_row_json(json_t *json, const struct plumb_report *r, const struct plumb_row *row)
{
	struct plumb_frames f = {};

	json_object_set_new(json, "sum", plumb_json_u64(row->sum));
	if (row->slot)
		plumb_frames_name(&f, r->session->instance.bpf.object, row->key);
	json_object_set_new(json, "stack", plumb_frames_json(&f));
	plumb_frames_free(&f);
}

static json_t *json_of(const struct plumb_report *r, const struct plumb_folded *f)
{
	struct plumb_frames frames = {};
	json_t *json = json_object();

	json_object_set_new(json, "key", plumb_json_key(r->session, f->row));
	json_object_set_new(json, "count", plumb_json_u64(f->count));
	if (plumb_stacks_weigh_time) {
		json_object_set_new(json, "sum", plumb_json_u64(f->weight));
		json_object_set_new(json, "min", plumb_json_u64(f->min));
		json_object_set_new(json, "max", plumb_json_u64(f->max));
	}
	if (f->row->slot)
		plumb_frames_name(&frames, r->session->instance.bpf.object, f->row->key);
	json_object_set_new(json, "stack", plumb_frames_json(&frames));
	plumb_frames_free(&frames);
	return json;
}

json_t *plumb_stacks_rows_json(const struct plumb_report *r)
{
	json_t *rows = json_array();
	size_t n;
	struct plumb_folded *all = fold_all(r->session, r->snap, &n);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(rows, json_of(r, &all[i]));
	free_all(all, n);
	return rows;
}

void plumb_stacks_footer(FILE *out)
{
	const struct plumb_symbolizer_counts *c = plumb_symbolizer_counts(plumb_stacks_symbolizer);
	const char *obstacle = plumb_symbolizer_obstacle(plumb_stacks_symbolizer);

	if (obstacle)
		fprintf(out, "symbols: %s\n", obstacle);
	if (c->unknown)
		fprintf(out, "symbols: %llu of %llu addresses have no function's name\n",
			(unsigned long long)c->unknown, (unsigned long long)c->addresses);
}
