/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "printing/print.h"
#include <errno.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/files/atomic-file.h>
#include <plumb/outputs/openmetrics.h>

static int refused(const struct options *o, int err)
{
	return plumb_error(-err, "--openmetrics: cannot write %s: %s", o->openmetrics,
			   plumb_atomic_file_error(err));
}

int openmetrics_try(const struct options *o, uint64_t *takes)
{
	struct plumb_atomic_file file;
	int err = plumb_atomic_file_begin(&file, o->openmetrics);

	if (err)
		return refused(o, err);
	*takes = plumb_atomic_file_takes(&file);
	plumb_atomic_file_end(&file, -ECANCELED);
	return 0;
}

/* Which bounds --le means is known by the first report only. */
static int find_ladder(const struct options *o, bool sizes, struct plumb_ladder *l)
{
	if (!o->le) {
		sizes ? plumb_ladder_of_sizes(l) : plumb_ladder_of_times(l);
		return 0;
	}
	if (!plumb_ladder_parse(l, o->le, sizes))
		return 0;
	return plumb_error(EINVAL, "--le %s: the reports are of %s", o->le,
			   sizes ? "sizes, as in 64:64K" : "times, as in 10us:1s");
}

int print_openmetrics(const struct result *r)
{
	const struct options *o = r->reading->options;
	const bool sizes = reading_is_of_sizes(r->reading);
	struct plumb_atomic_file file;
	struct plumb_ladder first, times;
	json_t *report;
	int err = find_ladder(o, sizes, &first);

	if (err)
		return err;
	err = plumb_atomic_file_begin(&file, o->openmetrics);
	if (err)
		return refused(o, err);
	plumb_ladder_of_times(&times);
	report = print_report(r);
	/* Names and labels are those of the tool. */
	json_object_set_new(report, "tool", json_string(r->reading->tool));
	err = plumb_openmetrics_write(report, sizes ? &times : &first, &first, NULL, file.out);
	json_decref(report);
	err = plumb_atomic_file_end(&file, err);
	return err ? refused(o, err) : 0;
}
