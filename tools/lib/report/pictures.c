/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "heatmap.h"
#include "chart.h"
#include <plumb/report/picture-file.h>

#include <errno.h>
#include <plumb/base/clock.h>
#include <plumb/base/log.h>
#include <plumb/report/pictures.h>
#include <string.h>

static struct plumb_picture_file heatmap = {.option = "--heatmap"};
static struct plumb_picture_file chart = {.option = "--chart"};
static struct plumb_history history; /* large */
static bool is_wanted;

const char *plumb_picture_path(const char *option, const char *text)
{
	if (!*text || !strcmp(text, "-"))
		plumb_usage_error("%s: not a file: '%s'", option, text);
	return text;
}

/*
 * Some 250 columns of 0.1 s or longer.  Reading the maps takes some ms for hundreds of rows, so
 * that a run without a limit is read four times in a second.
 */
uint64_t plumb_pictures_sample(const struct plumb_options *o)
{
	const uint64_t shortest = PLUMB_SECOND / 10, longest = PLUMB_SECOND;
	const uint64_t share = o->duration / 250;

	if (!o->duration)
		return PLUMB_SECOND / 4;
	return share < shortest ? shortest : share > longest ? longest : share;
}

int plumb_pictures_open(const struct plumb_tool *tool, const struct plumb_options *o)
{
	int err = 0;

	is_wanted = o->heatmap || o->chart;
	/* Known only when a mechanism has been chosen. */
	if (is_wanted && !plumb_has_histogram(tool->measure.kind))
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
	const struct plumb_options *o = r->run->options;
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

int plumb_pictures_take(const struct plumb_report *interval)
{
	int err;

	if (!is_wanted)
		return 0;
	err = plumb_history_add(&history, interval->snap, interval->run->options->precision,
				interval->elapsed);
	if (err)
		return plumb_error(err, "pictures: %s", strerror(-err));
	return interval->final ? draw(interval) : 0;
}

void plumb_pictures_close(void)
{
	plumb_history_free(&history);
}
