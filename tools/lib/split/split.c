/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report of how calls spent their time: of a row, and of each band of its percentiles. */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/report.h>
#include <plumb/split/split.h>

/* The calls above percentile FROM, up to and including TO. */
static const struct band {
	const char *from;
	uint64_t to;
} bands[] = {
	{"0", 50 * PLUMB_PERCENT},        {"50", 90 * PLUMB_PERCENT},    {"90", 99 * PLUMB_PERCENT},
	{"99", 999 * PLUMB_PERCENT / 10}, {"99.9", 100 * PLUMB_PERCENT},
};
/* Per cent: a band that differs by as much is shown, and of it parts that are as large. */
#define DIFFERENCE 10
#define LEAST      5

#define N_BANDS (sizeof(bands) / sizeof(bands[0]))

const struct plumb_part_name plumb_split_parts[PLUMB_ALL_PARTS] = {
	{"on-cpu", "CPU", "on_cpu", PLUMB_ON_CPU},
	{"irq", "IRQ", "irq", PLUMB_IRQ},
	{"preempted", "PREE", "preempted", PLUMB_PREEMPTED},
	{"blocked", "BLOCK", "blocked", PLUMB_BLOCKED},
	{"runq", "RUNQ", "runq", PLUMB_RUNQ},
};

const struct plumb_part_name plumb_return_parts[PLUMB_RETURN_PARTS + 1] = {
	{"on-cpu", "CPU", "on_cpu", PLUMB_RETURN_PARTS},
	{"irq", "IRQ", "irq", PLUMB_IRQ},
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

/* A key can be the CPU. */
static bool name(const struct plumb_tool *tool, size_t i, char *name, size_t size)
{
	const struct plumb_run run = {.tool = tool};
	const struct parts parts = parts_of(&run);

	if (i >= parts.n)
		return false;
	snprintf(name, size, "%s%s", strcmp(parts.names[i].column, "CPU") ? "" : "on-",
		 parts.names[i].column);
	for (; *name; name++)
		*name = tolower((unsigned char)*name);
	return true;
}

static double percent(const struct parts *parts, const struct plumb_split_buckets *p, size_t i)
{
	const uint64_t ns = total(p->ns);

	if (is_unseen(parts, i))
		return NAN;
	return ns ? 100.0 * p->ns[parts->names[i].part] / ns : 0;
}

static double share(const struct plumb_run *run, const struct plumb_row *row, size_t i)
{
	const struct parts parts = parts_of(run);
	struct plumb_split_buckets all = {};

	for (size_t j = 0; row->split && j < row->n_split; j++)
		add(&all, &row->split[j]);
	return percent(&parts, &all, i);
}

/* Whether a part of the BAND's time is another share of it than of all. */
static bool differs(const struct parts *parts, const struct plumb_split_buckets *band,
		    const struct plumb_split_buckets *all)
{
	if (!total(band->led) || !total(all->led))
		return false;
	for (size_t i = 0; i < parts->n; i++)
		if (fabs(percent(parts, band, i) - percent(parts, all, i)) > DIFFERENCE)
			return true;
	return false;
}

/* The largest part that is not among DONE; -1: none of LEAST per cent. */
static int largest(const struct parts *parts, const struct plumb_split_buckets *band, uint32_t done)
{
	double most = LEAST;
	int at = -1;

	for (size_t i = 0; i < parts->n; i++) {
		if (done >> i & 1 || !(percent(parts, band, i) >= most))
			continue;
		most = percent(parts, band, i);
		at = i;
	}
	return at;
}

/* Bands FIRST to LAST. */
static void print_band(const struct parts *parts, size_t first, size_t last,
		       const struct plumb_split_buckets *band, FILE *out)
{
	const uint64_t calls = total(band->led);
	const char *between = ":";
	uint32_t done = 0;

	if (last + 1 < N_BANDS)
		fprintf(out, "  p%s-%s", bands[first].from, bands[last + 1].from);
	else
		fprintf(out, "  above p%s", bands[first].from);
	fprintf(out, ", %llu call%s", (unsigned long long)calls, calls == 1 ? "" : "s");
	for (int i; (i = largest(parts, band, done)) >= 0; done |= 1U << i) {
		fprintf(out, "%s %s %.0f %%", between, parts->names[i].heading,
			percent(parts, band, i));
		between = ",";
	}
	fputc('\n', out);
}

static int print(const struct plumb_report *r, const struct plumb_row *row, FILE *out)
{
	const struct parts parts = parts_of(r->run);
	struct plumb_split_buckets all = {}, in_band[N_BANDS] = {};
	size_t last;
	int lines = 0;

	add_up(row, &all, in_band);
	for (size_t i = 0; i < N_BANDS; i = last + 1) {
		struct plumb_split_buckets *band = &in_band[i];

		/* Together with those behind it that are like it, or empty. */
		for (last = i; last + 1 < N_BANDS; last++) {
			if (differs(&parts, &in_band[last + 1], band))
				break;
			add(band, &in_band[last + 1]);
		}
		if (!differs(&parts, band, &all))
			continue;
		print_band(&parts, i, last, band, out);
		lines++;
	}
	return lines;
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

static json_t *json(const struct plumb_report *r, const struct plumb_row *row)
{
	const struct parts parts = parts_of(r->run);
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
	fputs("split: per cent of a row's time, and of calls between two percentiles where a part\n"
	      "  differs by more than 10; preempted: runnable, without a CPU; blocked: asleep;\n"
	      "  runq: woken, not yet running",
	      out);
	fputs(parts ? "; return: any of these on the way out, after\n  the call\n" : "\n", out);
}

const struct plumb_splitting plumb_splitting = {
	.name = name,
	.share = share,
	.print = print,
	.json = json,
	.explain = explain,
};
