/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* measure: the time that each mechanism adds, in interleaved rounds. */
#ifndef MEASURE_H
#define MEASURE_H

#include <signal.h>
#include <stdbool.h>

/*
 * Measure all mechanisms that are not refused and set their cost; false: all, apart from the
 * bystander, are refused.  *SLOWED is the number of measurements during which another process had
 * BPF run-time statistics enabled, which makes every program slower.  When *OVER is set, it
 * ends early; *ROUNDS is then the number of whole rounds.
 */
bool measure_all(unsigned int *rounds, unsigned int *slowed, const volatile sig_atomic_t *over);

#endif
