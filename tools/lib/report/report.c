/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/base/log.h>
#include <plumb/report/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most calls first. */
static int by_count(const void *a, const void *b)
{
	const struct plumb_row *x = a, *y = b;

	return (x->count < y->count) - (x->count > y->count);
}

int plumb_report_print(struct plumb_report *r)
{
	int err = 0;

	qsort(r->snap->rows, r->snap->n, sizeof(*r->snap->rows), by_count);
	if (r->run->options->json)
		err = plumb_report_json(r, stdout);
	else if (r->run->tool->view.print)
		err = r->run->tool->view.print(r);
	else
		plumb_report_table(r, stdout);
	if (err == -EPIPE)
		return err;
	if (err)
		return plumb_error(err, "cannot write the report: %s", strerror(-err));
	if (fflush(stdout) || ferror(stdout)) {
		if (errno == EPIPE)
			return -EPIPE;
		return plumb_error(errno, "cannot write to standard output: %s", strerror(errno));
	}
	return 0;
}
