/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* measure: what each mechanism adds, in interleaved rounds. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdbool.h>

/*
 * Fills cost of all mechanisms that are not refused; false: there is none.  SLOWED
 * gets how many measurements were made while others had the kernel's run-time
 * statistics on, which makes every program dearer.
 */
bool measure_all(unsigned int rounds, unsigned int *slowed);

#endif
