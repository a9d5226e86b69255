/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pictures: --heatmap and --chart, drawn of what the intervals of a run recorded. */
#include <plumb/pictures/chart.h>
#include <plumb/pictures/heatmap.h>
#include <plumb/pictures/picture-file.h>

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
	const struct plumb_options *o = &run->options;
	int err = 0;

	is_wanted = o->heatmap || o->chart;
	/* Known only when a mechanism has been chosen. */
	if (is_wanted && !plumb_has_histogram(run->tool->measure.kind))
		return plumb_error(EINVAL,
				   "%s: this mechanism does not measure times: see "
				   "--mechanism",
				   o->heatmap ? heatmap.option : chart.option);
	if (o->heatmap)
		err = plumb_picture_check(&heatmap, o->heatmap);
	if (!err && o->chart)
		err = plumb_picture_check(&chart, o->chart);
	return err;
}

static int draw(const struct plumb_report *r)
{
	const struct plumb_options *o = &r->run->options;
	int err = 0;

	if (o->heatmap) {
		err = plumb_picture_open(&heatmap, o->heatmap);
		if (!err) {
			plumb_heatmap_draw(&history, r, heatmap.place.out);
			err = plumb_picture_close(&heatmap, o->heatmap);
		}
	}
	if (!err && o->chart)
		err = plumb_picture_open(&chart, o->chart);
	if (!err && o->chart) {
		err = plumb_chart_draw(&history, r, chart.place.out);
		if (err)
			return plumb_error(err, "%s: %s", chart.option, strerror(-err));
		err = plumb_picture_close(&chart, o->chart);
	}
	return err;
}

/* Remembers an interval; draws the pictures if it is the last one. */
static int take(const struct plumb_report *interval)
{
	int err;

	if (!is_wanted)
		return 0;
	err = plumb_history_add(&history, interval->snap, interval->run->options.precision,
				interval->elapsed);
	if (err)
		return plumb_error(err, "pictures: %s", strerror(-err));
	return interval->final ? draw(interval) : 0;
}

static int forget(void)
{
	plumb_history_free(&history);
	return 0;
}

/* --- the part --- */

enum { HEATMAP = 1, CHART };

static void set_heatmap(const char *option, const char *text, struct plumb_options *o)
{
	o->heatmap = plumb_picture_path(option, text);
}

static void set_chart(const char *option, const char *text, struct plumb_options *o)
{
	o->chart = plumb_picture_path(option, text);
}

static const struct plumb_option options[] = {
	{"heatmap", 0, "FILE.svg", "at the end, draw a heat map: values over time", 40,
	 .parse = set_heatmap},
	{"chart", 0, "FILE.svg", "at the end, draw percentiles over time, and their distribution",
	 40, .parse = set_chart},
	{0},
};

static bool has(const struct plumb_tool *tool)
{
	return tool && !(tool->options.lacks & PLUMB_NO_COLUMN_OPTIONS) &&
	       plumb_has_histogram(tool->measure.kind);
}

static void complete(struct plumb_options *o, const struct plumb_tool *tool)
{
	(void)tool;
	if (!o->interval && (o->heatmap || o->chart))
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
