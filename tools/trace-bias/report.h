/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report: the comparison of the pairs of runs, as a table or a JSON object with every run. */
#pragma once

#include "judge.h"
#include "notes.h"
#include "run.h"
#include <time.h>

struct pair {
	struct run without, with;
	bool with_first;
};

struct comparison {
	struct run_plan *plan;
	struct pair *pairs;
	size_t n;
	double limit; /* percent */
	uint64_t seed;
	struct timespec start, end;
	struct notes notes;
	struct judgement of[MEASURES];
	size_t measures; /* number; METRIC is the last and only with --metric */
};

/* Set OF; return the verdict that prevails. */
enum verdict report_judge(struct comparison *c);
void report_print_table(const struct comparison *c);
void report_print_json(const struct comparison *c);
