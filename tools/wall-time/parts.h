/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parts: parts of the time, each of one thread, and what is told of them. */
#pragma once

#include "account.h"
#include "threads.h"

/* One copy of each text, also for the next report. */
const char *part_text(const char *text);

/* Adds a part of NS of a thread, in COUNT times; LIFE may be NULL: it is not known whose. */
struct part *part_add(struct account *a, struct life *life, int64_t ns, uint64_t count);

/* What the thread did: in the spot that /proc showed; or as a row's key says. */
void part_judge_spot(struct part *part, enum wall_kind kind, const struct spot *spot);
void part_judge_key(struct part *part, const struct plumb_report *r, const struct wall_key *key);
