/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* options: the command line. */
#pragma once

#include "merging/merge.h"
#include <plumb/core/options.h>

struct sort_by {
	enum {
		SORT_USUAL, /* by total, or by calls where no times or sizes are merged */
		SORT_CALLS,
		SORT_ERRORS,
		SORT_TOTAL,
		SORT_MEAN,
		SORT_MAX,
		SORT_PERCENTILE,
	} column;
	uint64_t p; /* of SORT_PERCENTILE */
};

struct options {
	struct plumb_options shared; /* the table's and JSON's, as those of the tools */
	char **files;
	size_t n_files;
	struct merge_by by;
	uint64_t every; /* ns; 0: one result */
	struct sort_by sort;
	const char *tool; /* merge only its reports; NULL: there is only one */
	const char *hgrm; /* directory */
	const char *openmetrics, *le;
	bool ladder, keep_going;
	bool diff;
	bool judge;        /* --fail-above */
	double fail_above; /* per cent */
};

void options_parse(struct options *o, int argc, char **argv);
