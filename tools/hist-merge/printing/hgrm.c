/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * print's files for HdrHistogram's plotter: the percentile distribution of a row, as
 * outputPercentileDistribution() of HdrHistogram prints it, with 5 steps per half distance to 100
 * %.
 */
#include "merging/keys.h"
#include "printing/print.h"
#include <math.h>
#include <stdlib.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/log.h>
#include <plumb/files/atomic-file.h>

#define STEPS 5
/* Of a file's name, without what makes it unique. */
#define LONGEST 120

/*
 * Levels get closer to each other towards 100 %: STEPS of them halve the distance.  HUGE_VAL if a
 * double cannot hold one that is still closer.
 */
static double next_level(double level)
{
	double next = level + 100 / (STEPS * pow(2, floor(log2(100 / (100 - level))) + 1));

	return next > level && next < 100 ? next : HUGE_VAL;
}

static void print_level(double value, double level, uint64_t below, FILE *out)
{
	fprintf(out, "%12.3f %2.12f %10" PRIu64, value, level / 100, below);
	if (level < 100)
		fprintf(out, " %14.2f", 1 / (1 - level / 100));
	fputc('\n', out);
}

static double deviation(const struct plumb_dist *d, double mean, uint64_t count)
{
	double sum = 0, low, middle;

	for (size_t i = 0; i < d->n; i++) {
		low = plumb_bucket_lowest(d->buckets[i].index, d->precision);
		middle = low + floor((plumb_dist_highest(d, i) - low + 1) / 2);
		sum += (middle - mean) * (middle - mean) * d->buckets[i].count;
	}
	return sqrt(sum / count);
}

static void print_distribution(const struct plumb_dist *d, uint64_t sum, double scale, FILE *out)
{
	uint64_t count = plumb_dist_count(d), below = 0;
	double level = 0, mean = (double)sum / count;

	fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
		"1/(1-Percentile)");
	for (size_t i = 0; i < d->n; i++) {
		below += d->buckets[i].count;
		while (100. * below / count >= level) {
			print_level(plumb_dist_highest(d, i) / scale, level, below, out);
			level = next_level(level);
			if (below == count)
				break;
		}
	}
	print_level(plumb_dist_highest(d, d->n - 1) / scale, 100, below, out);
	fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean / scale,
		deviation(d, mean, count) / scale);
	fprintf(out, "#[Max     = %12.3f, Total count    = %12" PRIu64 "]\n", d->max / scale,
		count);
	fprintf(out, "#[Buckets = %12u, SubBuckets     = %12u]\n",
		PLUMB_HIST_RANGE_BITS - d->precision, 2U << d->precision);
}

static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr("=._,-", c));
}

/* The key, and where characters were replaced that a name should not have, a hash of it. */
static char *file_name(const char *dir, const struct merged_row *row)
{
	char *key = print_key(row->key), *name;
	bool is_exact = strlen(key) <= LONGEST;
	int n;

	for (char *c = key; *c; c++)
		if (*c == ' ') {
			*c = ',';
		} else if (!is_plain(*c)) {
			is_exact = false;
			*c = '_';
		}
	/* They have no "=" in them. */
	if (!strcmp(row->key, "{}") || !strcmp(row->key, KEYS_OTHER))
		n = asprintf(&name, "%s/%s.hgrm", dir, row->key[1] == '}' ? "all" : "other");
	else if (is_exact)
		n = asprintf(&name, "%s/%s.hgrm", dir, key);
	else
		n = asprintf(
			&name, "%s/%.*s-%08x.hgrm", dir, LONGEST, key,
			(uint32_t)span_hash((struct span){row->key, strlen(row->key)}, SPAN_HASH));
	free(key);
	if (n < 0)
		abort();
	return name;
}

static int write_row(const struct result *r, const struct merged_row *row)
{
	static const double scales[] = {1, 1, 1e3, 1e6, 1e9}; /* auto, ns, us, ms, s */
	const struct options *o = r->reading->options;
	const struct merged *of = &row->measures[FIRST];
	double scale = reading_is_of_sizes(r->reading) ? 1 : scales[o->shared.unit];
	char *name = file_name(o->hgrm, row);
	struct plumb_atomic_file file;
	int err = plumb_atomic_file_begin(&file, name);

	if (!err) {
		print_distribution(&of->dist, of->sum, scale, file.out);
		err = plumb_atomic_file_end(&file, 0);
	}
	if (err)
		plumb_error(-err, "--hgrm: %s: %s", name, plumb_atomic_file_error(err));
	free(name);
	return err;
}

int print_hgrm(const struct result *r)
{
	int err = 0;

	if (!merge_has(&r->reading->merge, FIRST))
		plumb_warn("--hgrm: no row has a histogram");
	else
		for (size_t i = 0; !err && i < r->n; i++)
			err = write_row(r, r->rows[i]);
	return err;
}
