/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* idle: in which parts threads wait for work (wall-time(8), IDLE THREADS). */
#pragma once

#include "account.h"
#include "threads.h"

/*
 * Says of each part of A, before parts of several threads are joined, whether it is idle; none is
 * with ALL_WAITS.  The parts are then in the order of threads and places.
 */
void idle_judge(struct account *a, const struct lives *lives, bool all_waits);
