/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report of where the time of calls went: of a row, and of each band of its percentiles. */
#include <plumb/json.h>
#include <plumb/report.h>
#include <string.h>

/* The calls above percentile FROM, up to and including TO. */
static const struct band {
	const char *name, *from;
	uint64_t to;
} bands[] = {
	{"to p50", "0", 50 * PLUMB_PERCENT},    {"to p90", "50", 90 * PLUMB_PERCENT},
	{"to p99", "90", 99 * PLUMB_PERCENT},   {"to p99.9", "99", 999 * PLUMB_PERCENT / 10},
	{"above", "99.9", 100 * PLUMB_PERCENT},
};
#define N_BANDS (sizeof(bands) / sizeof(bands[0]))

/* In the order in which they are shown. */
static const struct {
	const char *heading, *name;
	enum plumb_part part;
} parts[] = {
	{"on CPU", "on_cpu", PLUMB_ON_CPU},
	{"preempted", "preempted", PLUMB_PREEMPTED},
	{"blocked", "blocked", PLUMB_BLOCKED},
	{"waiting", "waiting", PLUMB_WAITING},
};
#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

static void add(struct plumb_parts *sum, const struct plumb_parts *p)
{
	for (int i = 0; i < PLUMB_ALL_PARTS; i++) {
		sum->ns[i] += p->ns[i];
		sum->led[i] += p->led[i];
	}
}

static void add_up(const struct plumb_row *row, struct plumb_parts *all,
		   struct plumb_parts in_band[N_BANDS])
{
	uint64_t lowest;
	size_t band = 0;

	for (size_t i = 0; i < row->n_split; i++) {
		lowest = plumb_bucket_lowest(row->split[i].bucket, row->dist.precision);
		/* A bucket is not cut: it belongs to the percentile that is said to be its end. */
		while (band + 1 < N_BANDS && lowest > plumb_percentile(&row->dist, bands[band].to))
			band++;
		add(&in_band[band], &row->split[i]);
		add(all, &row->split[i]);
	}
}

static uint64_t total(const uint64_t each[PLUMB_ALL_PARTS])
{
	uint64_t sum = 0;

	for (int i = 0; i < PLUMB_ALL_PARTS; i++)
		sum += each[i];
	return sum;
}

static void print_parts(const char *name, const struct plumb_parts *p, FILE *out)
{
	uint64_t calls = total(p->led), ns = total(p->ns);

	if (!calls)
		return;
	fprintf(out, "  %-8s %9llu", name, (unsigned long long)calls);
	for (size_t i = 0; i < N_PARTS; i++)
		fprintf(out, " %5.1f%% %7llu", ns ? 100.0 * p->ns[parts[i].part] / ns : 0,
			(unsigned long long)p->led[parts[i].part]);
	fputc('\n', out);
}

void plumb_report_split(const struct plumb_row *row, FILE *out)
{
	struct plumb_parts all = {}, in_band[N_BANDS] = {};

	fprintf(out, "  %18s", "calls");
	for (size_t i = 0; i < N_PARTS; i++)
		fprintf(out, " %14s", parts[i].heading);
	fputc('\n', out);
	add_up(row, &all, in_band);
	for (size_t i = 0; i < N_BANDS; i++)
		print_parts(bands[i].name, &in_band[i], out);
	print_parts("all", &all, out);
}

static json_t *json_of(const struct plumb_parts *p)
{
	json_t *j = json_object(), *led = json_object();

	json_object_set_new(j, "count", plumb_json_u64(total(p->led)));
	json_object_set_new(j, "sum", plumb_json_u64(total(p->ns)));
	for (size_t i = 0; i < N_PARTS; i++) {
		json_object_set_new(j, parts[i].name, plumb_json_u64(p->ns[parts[i].part]));
		json_object_set_new(led, parts[i].name, plumb_json_u64(p->led[parts[i].part]));
	}
	json_object_set_new(j, "mostly", led);
	return j;
}

json_t *plumb_json_split(const struct plumb_row *row)
{
	struct plumb_parts all = {}, in_band[N_BANDS] = {};
	json_t *j, *list = json_array(), *one;

	add_up(row, &all, in_band);
	j = json_of(&all);
	for (size_t i = 0; i < N_BANDS; i++) {
		one = json_of(&in_band[i]);
		json_object_set_new(one, "above", json_string(bands[i].from));
		json_array_append_new(list, one);
	}
	json_object_set_new(j, "bands", list);
	return j;
}
