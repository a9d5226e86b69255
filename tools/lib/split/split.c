/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report of how calls spent their time: of a row, and of each band of its percentiles. */
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/report.h>
#include <plumb/split/split.h>

/* The calls above percentile FROM, up to and including TO. */
static const struct band {
	const char *name, *from;
	uint64_t to;
} bands[] = {
	{"p0-50", "0", 50 * PLUMB_PERCENT},     {"p50-90", "50", 90 * PLUMB_PERCENT},
	{"p90-99", "90", 99 * PLUMB_PERCENT},   {"p99-99.9", "99", 999 * PLUMB_PERCENT / 10},
	{"above", "99.9", 100 * PLUMB_PERCENT},
};
#define N_BANDS (sizeof(bands) / sizeof(bands[0]))

const struct plumb_part_name plumb_split_parts[PLUMB_ALL_PARTS] = {
	{"on-cpu", "CPU", "on_cpu", PLUMB_ON_CPU},
	{"preempted", "PREE", "preempted", PLUMB_PREEMPTED},
	{"blocked", "BLOCK", "blocked", PLUMB_BLOCKED},
	{"runq", "RUNQ", "runq", PLUMB_RUNQ},
};

const struct plumb_part_name plumb_return_parts[PLUMB_RETURN_PARTS + 1] = {
	{"on-cpu", "CPU", "on_cpu", PLUMB_RETURN_PARTS},
	{"preempted", "PREE", "preempted", PLUMB_PREEMPTED},
	{"blocked", "BLOCK", "blocked", PLUMB_BLOCKED},
	{"runq", "RUNQ", "runq", PLUMB_RUNQ},
	{"return", "RET", "return", PLUMB_RETURN},
};
#define MOST (sizeof(plumb_return_parts) / sizeof(*plumb_return_parts))

/* The parts of the tool's calls. */
struct parts {
	const struct plumb_part_name *names;
	size_t n;
	bool many; /* a line has no room for the calls of which each was the largest */
	const struct plumb_run *run;
};

static struct parts parts_of(const struct plumb_run *run)
{
	const struct plumb_measure *m = &run->tool->measure;

	if (!m->parts)
		return (struct parts){plumb_split_parts, PLUMB_ALL_PARTS, false, run};
	return (struct parts){m->parts, m->n_parts, m->n_parts > MOST, run};
}

bool plumb_part_is_unseen(const struct plumb_tool *tool, const char *no_return,
			  const struct plumb_part_name *part)
{
	return (no_return && *no_return && !strcmp(part->json, "return")) ||
	       (tool->measure.unseen_parts && *tool->measure.unseen_parts >> part->part & 1);
}

static bool is_unseen(const struct parts *parts, size_t i)
{
	return plumb_part_is_unseen(parts->run->tool, parts->run->no_return, &parts->names[i]);
}

static void add(struct plumb_split_buckets *sum, const struct plumb_split_buckets *p)
{
	for (int i = 0; i < PLUMB_MAX_PARTS; i++) {
		sum->ns[i] += p->ns[i];
		sum->led[i] += p->led[i];
	}
}

static void add_up(const struct plumb_row *row, struct plumb_split_buckets *all,
		   struct plumb_split_buckets in_band[N_BANDS])
{
	uint64_t lowest;
	size_t band = 0;

	for (size_t i = 0; i < row->n_split; i++) {
		lowest = plumb_bucket_lowest(row->split[i].bucket, row->dist.precision);
		/*
		 * A bucket is not divided: it belongs to the band whose upper percentile is in it.
		 */
		while (band + 1 < N_BANDS && lowest > plumb_percentile(&row->dist, bands[band].to))
			band++;
		add(&in_band[band], &row->split[i]);
		add(all, &row->split[i]);
	}
}

static uint64_t total(const uint64_t each[PLUMB_MAX_PARTS])
{
	uint64_t sum = 0;

	for (int i = 0; i < PLUMB_MAX_PARTS; i++)
		sum += each[i];
	return sum;
}

/*
 * Formats N in full if WIDTH digits hold it, otherwise in millions or more, as "12.35M", or, if
 * WIDTH is below 6, as "12k".
 */
static const char *format_count(uint64_t n, int width, char *text, size_t size)
{
	static const char units[] = "MGTPE", all_units[] = "kMGTPE";
	double shown = n / 1e6;
	size_t unit = 0;

	if (snprintf(text, size, "%llu", (unsigned long long)n) <= width)
		return text;
	if (width < 6) {
		for (shown = n / 1e3; shown >= 999.5; shown /= 1000)
			unit++;
		snprintf(text, size, "%.*f%c", shown < 9.95, shown, all_units[unit]);
		return text;
	}
	for (; shown >= 9999.5; shown /= 1000)
		unit++;
	snprintf(text, size, "%.4g%c", shown, units[unit]);
	return text;
}

static int width_of(const struct plumb_part_name *part)
{
	const int n = strlen(part->column);

	return n < 4 ? 4 : n;
}

void plumb_print_part_headings(const struct plumb_part_name *parts, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++)
		fprintf(out, " %*s", width_of(&parts[i]), parts[i].column);
}

void plumb_print_part_share(const struct plumb_part_name *part, bool unseen, double per_cent,
			    FILE *out)
{
	if (unseen)
		fprintf(out, " %*s", width_of(part), "-");
	else
		fprintf(out, " %*.*f", width_of(part), per_cent < 99.95, per_cent);
}

static void print_parts(const struct parts *parts, const char *name,
			const struct plumb_split_buckets *p, FILE *out)
{
	const int width = parts->n == MOST ? 4 : 7, counts = parts->many ? 7 : 9;
	uint64_t calls = total(p->led), ns = total(p->ns);
	char text[32];

	if (!calls)
		return;
	fprintf(out, "  %-8s %*s", name, counts, format_count(calls, counts, text, sizeof(text)));
	for (size_t i = 0; i < parts->n; i++) {
		const unsigned int part = parts->names[i].part;
		const double share = ns ? 100.0 * p->ns[part] / ns : 0;

		if (parts->many)
			plumb_print_part_share(&parts->names[i], is_unseen(parts, i), share, out);
		else if (is_unseen(parts, i))
			fprintf(out, " %6s %*s", "-", width, "-");
		else
			fprintf(out, " %5.1f%% %*s", share, width,
				format_count(p->led[part], width, text, sizeof(text)));
	}
	fputc('\n', out);
}

static void print(const struct plumb_run *run, const struct plumb_row *row, FILE *out)
{
	const struct parts parts = parts_of(run);
	struct plumb_split_buckets all = {}, in_band[N_BANDS] = {};

	fprintf(out, "  %*s", parts.many ? 16 : 18, "calls");
	if (parts.many)
		plumb_print_part_headings(parts.names, parts.n, out);
	for (size_t i = 0; i < parts.n && !parts.many; i++)
		fprintf(out, " %*s", parts.n == MOST ? 11 : 14, parts.names[i].heading);
	fputc('\n', out);
	add_up(row, &all, in_band);
	for (size_t i = 0; i < N_BANDS; i++)
		print_parts(&parts, bands[i].name, &in_band[i], out);
	print_parts(&parts, "all", &all, out);
}

static json_t *part_json(bool unseen, uint64_t n)
{
	return unseen ? json_null() : plumb_json_u64(n);
}

static json_t *json_of(const struct parts *parts, const struct plumb_split_buckets *p)
{
	json_t *j = json_object(), *led = json_object();

	json_object_set_new(j, "count", plumb_json_u64(total(p->led)));
	json_object_set_new(j, "sum", plumb_json_u64(total(p->ns)));
	for (size_t i = 0; i < parts->n; i++) {
		const struct plumb_part_name *n = &parts->names[i];

		json_object_set_new(j, n->json, part_json(is_unseen(parts, i), p->ns[n->part]));
		json_object_set_new(led, n->json, part_json(is_unseen(parts, i), p->led[n->part]));
	}
	json_object_set_new(j, "mostly", led);
	return j;
}

static json_t *json(const struct plumb_run *run, const struct plumb_row *row)
{
	const struct parts parts = parts_of(run);
	struct plumb_split_buckets all = {}, in_band[N_BANDS] = {};
	json_t *j, *list = json_array(), *one;

	add_up(row, &all, in_band);
	j = json_of(&parts, &all);
	for (size_t i = 0; i < N_BANDS; i++) {
		one = json_of(&parts, &in_band[i]);
		json_object_set_new(one, "above", json_string(bands[i].from));
		json_array_append_new(list, one);
	}
	json_object_set_new(j, "bands", list);
	return j;
}

static void explain(const struct plumb_tool *tool, FILE *out)
{
	const struct plumb_part_name *parts = tool->measure.parts;

	/* A tool that has other parts explains them itself. */
	if (parts && parts != plumb_return_parts)
		return;
	fputs("split: per cent of the time, and calls of which it was the largest part\n"
	      "  preempted: runnable, without a CPU; blocked: asleep; runq: woken, not yet\n"
	      "  running",
	      out);
	fputs(parts ? "; return: any of these on the way out, after the call\n" : "\n", out);
}

const struct plumb_splitting plumb_splitting = {
	.print = print,
	.json = json,
	.explain = explain,
};
