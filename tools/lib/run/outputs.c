/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "outputs.h"

#include "recorder.h"

int plumb_outputs_open(const struct plumb_session *s)
{
	return plumb_recorder_open(s);
}

int plumb_outputs_take(const struct plumb_report *interval)
{
	return plumb_recorder_take(interval);
}

int plumb_outputs_close(int err)
{
	(void)err;
	return plumb_recorder_close();
}
