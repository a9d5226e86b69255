/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* metrics: the files that monitoring systems take, --openmetrics and --otlp. */
#ifndef METRICS_H
#define METRICS_H

struct plumb_report;
struct plumb_session;

/* As in outputs.h.  A file that cannot be written is told of once, and does not end the run. */
int plumb_metrics_open(const struct plumb_session *s);
void plumb_metrics_take(const struct plumb_report *interval);
/* Removes the file of --openmetrics.  0, or -EIO if the latest rows could not be written. */
int plumb_metrics_close(void);

#endif
