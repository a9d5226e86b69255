/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "outputs.h"

#include "metrics.h"

int plumb_outputs_open(const struct plumb_session *s)
{
	return plumb_metrics_open(s);
}

int plumb_outputs_take(const struct plumb_report *interval)
{
	plumb_metrics_take(interval);
	return 0;
}

int plumb_outputs_close(int err)
{
	(void)err;
	return plumb_metrics_close();
}
