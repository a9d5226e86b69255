/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "outputs.h"

#include <plumb/base/writer.h>
#include <plumb/report/pictures.h>
#include <plumb/session/session.h>

#include "metrics.h"
#include "recorder.h"

int plumb_outputs_open(const struct plumb_session *s)
{
	return plumb_recorder_open(s)
		       ?: plumb_metrics_open(s)
		       ?: plumb_pictures_open(s->tool, &s->options)
		       ?: plumb_writer_start();
}

int plumb_outputs_take(const struct plumb_report *interval)
{
	plumb_metrics_take(interval);
	return plumb_pictures_take(interval) ?: plumb_recorder_take(interval);
}

int plumb_outputs_close(void)
{
	int metrics = plumb_metrics_close();

	plumb_pictures_close();
	return plumb_recorder_close() ?: metrics;
}
