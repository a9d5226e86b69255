/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report: print the results as tables or as one JSON object. */
#pragma once

#include "check/kernel.h"
#include "plan/plan.h"
#include "compare/snapshot.h"

struct difference {
	enum difference_class class;
	char *target, *what;
};

struct findings {
	const struct kernel *kernel;
	const struct plan *plan;
	struct difference *differences;
	size_t n_differences, n_of[DIFFERENCE_CLASSES];
	bool compared; /* --against */
	struct compared what;
	const char *snapshot_kernel;
	size_t failed, unknown; /* targets on the command line, and tools */
};

void report_print(const struct findings *f);
int report_json(const struct findings *f);
