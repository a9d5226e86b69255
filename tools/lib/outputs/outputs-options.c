/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "outputs.h"

#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <string.h>

struct outputs outputs;

enum { OPENMETRICS = 1, OTLP, LE };

const struct argp_option outputs_options[] = {
	{"openmetrics", OPENMETRICS, "FILE.prom", 0,
	 "write metrics for node_exporter's textfile collector, each INTERVAL or 10 s", 40},
	{"le", LE, "LOW:HIGH|LIST", 0, "bounds of its histograms; default 1us:68s, or 64:1M bytes",
	 40},
	{"otlp", OTLP, "FILE", 0, "append metrics as lines of OTLP JSON", 40},
	{0},
};

bool outputs_has(const struct plumb_tool *tool)
{
	return tool && !(tool->options.lacks & (PLUMB_NO_COLUMN_OPTIONS | PLUMB_NO_TABLE_OPTIONS));
}

/* What is read by a scrape: often enough for one every 15 s. */
#define CADENCE (10 * PLUMB_SECOND)

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

void outputs_parse(int key, char *text, struct plumb_options *o)
{
	(void)o;
	switch (key) {
	case OPENMETRICS:
		/* It would be written, and never read. */
		if (!ends_with(text, ".prom"))
			plumb_usage_error("--openmetrics: node_exporter reads files whose names "
					  "end with .prom: %s",
					  text);
		outputs.openmetrics = text;
		return;
	case OTLP:
		outputs.otlp = text;
		return;
	case LE:
		outputs.le = text;
		return;
	}
}

void outputs_complete(struct plumb_options *o, const struct plumb_tool *tool)
{
	const bool sizes = tool->measure.kind == PLUMB_SIZES;
	const char *le = outputs.le;

	plumb_ladder_of_times(&outputs.times);
	plumb_ladder_of_sizes(&outputs.sizes);
	if (le && !outputs.openmetrics)
		plumb_usage_error("--le %s: the bounds of --openmetrics, which is not given", le);
	if (le && !plumb_has_histogram(tool->measure.kind))
		plumb_usage_error("--le %s: this tool counts, it has no histograms", le);
	if (le && plumb_ladder_parse(sizes ? &outputs.sizes : &outputs.times, le, sizes))
		plumb_usage_error("--le: LOW:HIGH or ascending bounds, at most %d, as in %s: %s",
				  PLUMB_MAX_BOUNDS,
				  sizes ? "64:64K or 512,4K" : "10us:1s or 1ms,10ms", le);
	if (!o->sample && (outputs.openmetrics || outputs.otlp))
		o->sample = CADENCE;
}
