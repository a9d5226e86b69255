/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * otlp: a report (plumb/2) as a line of OTLP JSON: an ExportMetricsServiceRequest, as the
 * OpenTelemetry collector's file exporter writes it and its receiver reads it.
 *
 * Histograms are exponential, cumulative, in seconds or bytes.  At scale s their bucket i holds the
 * values in (b^i, b^(i+1)], where b = 2^(2^-s).  A bucket [l, h] of hist.h, of precision p, is
 * counted where h is, and s = p - 1: then b - 1 > 2^-p, and [l, h] reaches into two buckets at
 *most.
 *
 * Bound: with h < v (1 + 2^-p) for each value v in [l, h] (hist.h), the upper bound U of the bucket
 * that v is counted in is
 *
 *	v <= h <= U < h b < v (1 + 2^-p) b
 *
 * so that a percentile that is read as that bound is never low and less than (1 + 2^-p) b - 1 high:
 * 3.8 % at precision 6, where s = 5.
 */
#pragma once

#include <jansson.h>

#define PLUMB_UUID_SIZE 37

/* A random UUID (version 4) for a run: the series of another run are others.  0 or -errno. */
int plumb_otlp_instance(char id[PLUMB_UUID_SIZE]);

/* The request for REPORT, whose rows count from the start of the run, of INSTANCE. */
json_t *plumb_otlp(const json_t *report, const char *instance);

/* The bucket of VALUE, above 0, at SCALE: the i for which b^i < VALUE <= b^(i+1). */
int plumb_otlp_index(double value, int scale);
