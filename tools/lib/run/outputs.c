/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "outputs.h"

#include <plumb/report/pictures.h>
#include <plumb/session/session.h>

int plumb_outputs_open(const struct plumb_session *s)
{
	return plumb_pictures_open(s->tool, &s->options);
}

int plumb_outputs_take(const struct plumb_report *interval)
{
	return plumb_pictures_take(interval);
}

int plumb_outputs_close(int err)
{
	(void)err;
	plumb_pictures_close();
	return 0;
}
