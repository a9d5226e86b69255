/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * openmetrics: a report (plumb/2) in Prometheus' text format 0.0.4, which node_exporter's textfile
 * collector reads.  It reads no OpenMetrics 1.0: what both have in common is written, but for the
 * names of counters in comments, which have _total, and the end, which has no "# EOF".
 *
 * Histograms are classic ones, in seconds or bytes, cumulative over the bounds of a ladder.  All
 * series of a metric have the labels of its keys; those of the row [other] are all "[other]", and
 * that text in a key begins with \x5b, as if it were not printable: no name can pass as [other].
 */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include <plumb/outputs/ladder.h>

/*
 * Writes REPORT, whose rows count from the start of the run.  RUN is a label of all series, for
 * several runs in one folder; NULL: none.  0 or -errno.
 */
int plumb_openmetrics_write(const json_t *report, const struct plumb_ladder *times,
			    const struct plumb_ladder *sizes, const char *run, FILE *out);
