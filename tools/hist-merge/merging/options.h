/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* options: the command line. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "merging/merge.h"
#include <linux/types.h>
#include <plumb/core/text.h>

#define OPTIONS_PERCENTILES 16

struct sort_by {
	enum {
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
	char **files;
	size_t n_files;
	const char *by[MERGE_KEYS]; /* with "none", none; without --by none, too: all */
	size_t n_by;
	bool one;
	uint64_t every; /* ns; 0: one result */
	__u64 max_keys, top;
	struct sort_by sort;
	struct {
		uint64_t p;
		char name[16];
	} percentiles[OPTIONS_PERCENTILES];
	size_t n_percentiles;
	enum plumb_unit unit;
	const char *tool; /* merge only its reports; NULL: there is only one */
	const char *hgrm; /* directory */
	const char *openmetrics, *le;
	bool histogram, ladder, json, keep_going;
	bool diff;
	bool judge;        /* --fail-above */
	double fail_above; /* per cent */
};

void options_parse(struct options *o, int argc, char **argv);

#endif
