/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/log.h>
#include <plumb/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plumb_verdict plumb_ledger_judge(const struct plumb_snapshot *total)
{
	const struct plumb_ledger *l = &total->ledger;
	struct plumb_verdict v = {
		.lost = l->no_state + l->untracked + total->missed,
	};

	for (size_t i = 0; i < total->n; i++) {
		v.recorded += total->rows[i].count;
		v.saturated += plumb_dist_saturated(&total->rows[i].dist);
	}
	/* All counters are not read at one instant: while calls run this can dip below 0. */
	v.in_flight = l->began - v.recorded - l->left_out - l->abandoned - l->overwritten;
	if ((int64_t)v.in_flight < 0)
		v.in_flight = 0;
	return v;
}

bool plumb_ledger_is_broken(const struct plumb_verdict *v, uint64_t percent)
{
	const unsigned __int128 whole = 100 * PLUMB_PERCENT;

	return v->lost * whole > (unsigned __int128)(v->recorded + v->lost) * percent;
}

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
	if (r->session->options.json)
		err = plumb_report_json(r, stdout);
	else
		plumb_report_table(r, stdout);
	if (err == -EPIPE)
		return err;
	if (err)
		return plumb_error(err, "cannot write JSON: %s", strerror(-err));
	if (fflush(stdout) || ferror(stdout)) {
		if (errno == EPIPE)
			return -EPIPE;
		return plumb_error(errno, "cannot write to standard output: %s", strerror(errno));
	}
	return 0;
}

int plumb_close_stdout(int status)
{
	int failed = ferror(stdout);

	if (!fclose(stdout) && !failed)
		return status;
	if (errno == EPIPE || status)
		return status;
	plumb_warn("cannot write to standard output: %s", strerror(errno));
	return EXIT_FAILURE;
}
