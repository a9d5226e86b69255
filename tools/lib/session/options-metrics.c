/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "options-metrics.h"

#include <plumb/base/clock.h>
#include <plumb/base/log.h>
#include <plumb/tool/options.h>
#include <plumb/tool/tool.h>
#include <string.h>

#include "options-table.h"

/* What is read by a scrape: often enough for one every 15 s. */
#define CADENCE (10 * PLUMB_SECOND)

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

bool plumb_options_parse_metrics(int key, const char *text, struct plumb_options *o)
{
	switch (key) {
	case OPENMETRICS:
		/* It would be written, and never read. */
		if (!ends_with(text, ".prom"))
			plumb_usage_error("--openmetrics: node_exporter reads files whose names "
					  "end with .prom: %s",
					  text);
		o->metrics.openmetrics = text;
		return true;
	case OTLP:
		o->metrics.otlp = text;
		return true;
	case LE:
		o->metrics.le = text;
		return true;
	default:
		return false;
	}
}

void plumb_options_finish_metrics(struct plumb_options *o, const struct plumb_tool *tool)
{
	const bool sizes = tool->measure.kind == PLUMB_SIZES;
	const char *le = o->metrics.le;

	plumb_ladder_of_times(&o->metrics.times);
	plumb_ladder_of_sizes(&o->metrics.sizes);
	if (le && !o->metrics.openmetrics)
		plumb_usage_error("--le %s: the bounds of --openmetrics, which is not given", le);
	if (le && !plumb_has_histogram(tool->measure.kind))
		plumb_usage_error("--le %s: this tool counts, it has no histograms", le);
	if (le && plumb_ladder_parse(sizes ? &o->metrics.sizes : &o->metrics.times, le, sizes))
		plumb_usage_error("--le: LOW:HIGH or ascending bounds, at most %d, as in %s: %s",
				  PLUMB_MAX_BOUNDS,
				  sizes ? "64:64K or 512,4K" : "10us:1s or 1ms,10ms", le);
	if (!o->sample && (o->metrics.openmetrics || o->metrics.otlp))
		o->sample = CADENCE;
}
