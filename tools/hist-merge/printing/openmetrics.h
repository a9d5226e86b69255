/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* openmetrics: the result as metrics of Prometheus, --openmetrics. */
#ifndef OPENMETRICS_H
#define OPENMETRICS_H

#include "results/read.h"

/* Whether it can be written: 0 or -errno after a message. */
int openmetrics_try(const struct options *o, uint64_t *takes);
/* Writes it.  0 or -errno after a message. */
int print_openmetrics(const struct result *r);

#endif
