/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pictures: --heatmap and --chart, drawn of what the intervals of a run recorded. */
#include "pictures.h"
#include <plumb/pictures/picture.h>

#include <errno.h>
#include <string.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/run.h>

static struct plumb_picture_file heatmap = {.option = "--heatmap"};
static struct plumb_picture_file chart = {.option = "--chart"};
static struct plumb_history history; /* large */
static bool is_wanted;

/*
 * Some 250 columns of 0.1 s or longer.  Reading the maps takes some ms for hundreds of rows, so
 * that a run without a limit is read four times in a second.
 */
static uint64_t sample_of(const struct plumb_options *o)
{
	const uint64_t shortest = PLUMB_SECOND / 10, longest = PLUMB_SECOND;
	const uint64_t share = o->duration / 250;

	if (!o->duration)
		return PLUMB_SECOND / 4;
	return share < shortest ? shortest : share > longest ? longest : share;
}

/* Opens the files, which the tool may not do after the trace has begun. */
static int check_files(struct plumb_run *run)
{
	is_wanted = heatmap.path || chart.path;
	/* Known only when a mechanism has been chosen. */
	if (is_wanted && !plumb_has_histogram(run->tool->measure.kind))
		return plumb_error(EINVAL,
				   "%s: this mechanism does not measure times: see "
				   "--mechanism",
				   heatmap.path ? heatmap.option : chart.option);
	return plumb_picture_check(&heatmap, false) ?: plumb_picture_check(&chart, false);
}

static int draw_heatmap(void *context, FILE *out)
{
	return plumb_heatmap_draw(&history, context, out);
}

static int draw_chart(void *context, FILE *out)
{
	return plumb_chart_draw(&history, context, out);
}

/* Remembers an interval; draws the pictures if it is the last one. */
static int take(const struct plumb_report *interval)
{
	const struct plumb_options *o = &interval->run->options;
	int err;

	if (!is_wanted)
		return 0;
	err = plumb_history_add(&history, interval->snap, o->precision, interval->elapsed);
	if (err)
		return plumb_error(err, "pictures: %s", strerror(-err));
	if (!interval->final)
		return 0;
	return plumb_picture_save(&heatmap, draw_heatmap, (void *)interval)
		       ?: plumb_picture_save(&chart, draw_chart, (void *)interval);
}

static int forget(void)
{
	plumb_history_free(&history);
	return 0;
}

/* --- the part --- */

static const struct plumb_option options[] = {
	{"heatmap", 0, "FILE.svg", "at the end, draw a heat map: values over time", 40,
	 .text = &heatmap.path},
	{"chart", 0, "FILE.svg", "at the end, draw percentiles over time, and their distribution",
	 40, .text = &chart.path},
	{0},
};

static bool has(const struct plumb_tool *tool)
{
	return tool && !(tool->options.lacks & PLUMB_NO_COLUMN_OPTIONS) &&
	       plumb_has_histogram(tool->measure.kind);
}

static void complete(struct plumb_options *o, const struct plumb_tool *tool)
{
	plumb_picture_check(&heatmap, true);
	plumb_picture_check(&chart, true);
	if (!o->interval && (heatmap.path || chart.path))
		o->sample = plumb_sooner(o->sample, sample_of(o));
}

const struct plumb_part plumb_pictures_part = {
	.name = "pictures",
	.options = options,
	.has = has,
	.complete = complete,
	.open = check_files,
	.interval = take,
	.close = forget,
};
