/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "outputs.h"

#include <string.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>

struct outputs outputs;

/* The tool's files are read by name: another one would be written, and never read. */
static void set_openmetrics(const char *option, const char *text, struct plumb_options *o)
{
	const char *dot = strrchr(text, '.');

	if (!dot || dot == text || strcmp(dot, ".prom"))
		plumb_usage_error("%s: node_exporter reads files whose names end with .prom: %s",
				  option, text);
}

/* clang-format off */
const struct plumb_option outputs_options[] = {
	{"openmetrics", 0, "FILE.prom", "write metrics for node_exporter's textfile collector, each INTERVAL or 10 s", 40, .once = true, .text = &outputs.openmetrics, .parse = set_openmetrics},
	{"le", 0, "LOW:HIGH|LIST", "bounds of its histograms; default 1us:68s, or 64:1M bytes", 40, .text = &outputs.le},
	{"otlp", 0, "FILE", "append metrics as lines of OTLP JSON", 40, .once = true, .text = &outputs.otlp},
	{0},
};
/* clang-format on */

bool outputs_has(const struct plumb_tool *tool)
{
	return tool && !(tool->options.lacks & (PLUMB_NO_COLUMN_OPTIONS | PLUMB_NO_TABLE_OPTIONS));
}

/* What is read by a scrape: often enough for one every 15 s. */
#define CADENCE (10 * PLUMB_SECOND)

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
