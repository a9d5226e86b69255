/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <plumb/core/log.h>
#include <plumb/core/report.h>

int plumb_report_print(struct plumb_report *r)
{
	int err = 0;

	plumb_report_sort(r);
	if (r->run->options.json)
		err = plumb_report_json(r, stdout);
	else if (r->run->tool->view.print)
		err = r->run->tool->view.print(r);
	else
		plumb_report_table(r, stdout);
	if (err == -EPIPE)
		return err;
	if (err)
		return plumb_error(err, "cannot write the report: %s", strerror(-err));
	return plumb_flush_stdout();
}

/* With the date once a run has passed midnight. */
void plumb_report_time(const struct plumb_report *r, FILE *out)
{
	static bool passed_midnight;
	static int first_day = -1;
	uint64_t interval = r->run->options.interval;
	long ns = r->snap->taken.tv_nsec;
	char text[32], fraction[32] = "";
	struct tm tm;

	localtime_r(&r->snap->taken.tv_sec, &tm);
	if (first_day < 0)
		first_day = tm.tm_yday;
	passed_midnight |= tm.tm_yday != first_day;
	strftime(text, sizeof(text), passed_midnight ? "%F %H:%M:%S" : "%H:%M:%S", &tm);
	/* Reports within the same second need a fraction. */
	if (interval % 1000000)
		snprintf(fraction, sizeof(fraction), ".%06ld", ns / 1000);
	else if (interval % 1000000000)
		snprintf(fraction, sizeof(fraction), ".%03ld", ns / 1000000);
	fprintf(out, "%s%s%s\n", r->seq > 1 ? "\n" : "", text, fraction);
}
