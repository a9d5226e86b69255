/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* on-cpu: the time of threads on the CPU, which is measured, divided among what samples show. */
#pragma once

#include "account.h"

/*
 * Adds parts to A: the time in ON, of CAUSE_ON and CAUSE_IRQ, is divided among SAMPLES, the ns of
 * which count them.  Both are reordered.
 */
void on_cpu_divide(struct account *a, struct account *on, struct account *samples);
