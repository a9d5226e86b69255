/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* notes: conditions of the machine that make runs differ. */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct notes {
	const char *root;             /* prefix of /sys and /proc: "" except in tests */
	uint64_t khz_least, khz_most; /* of CPUs, at the ends of runs */
	uint64_t runs, crowded;       /* number of runs; those that began while other threads ran */
	uint64_t migrations[2];       /* of the workload, without the tool and with it */
	uint64_t ticks, stolen;       /* of all CPUs, at the beginning of the first run */
};

void notes_begin(struct notes *n, const char *root);
/* Call before and after each run. */
void notes_run_begins(struct notes *n);
void notes_run_ended(struct notes *n);

/* Return an array of sentences, which the caller owns. */
json_t *notes_list(const struct notes *n);
