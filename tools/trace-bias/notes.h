/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* notes: what was seen of the machine that makes one run unlike another. */
#ifndef NOTES_H
#define NOTES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct notes {
	const char *root;             /* of /sys and /proc: "" but in tests */
	uint64_t khz_least, khz_most; /* of CPUs, as runs ended */
	uint64_t runs, crowded;       /* those that began while other threads ran */
	uint64_t migrations[2];       /* of the workload, without the tool and with it */
	uint64_t ticks, stolen;       /* of all CPUs, as the first run began */
};

void notes_begin(struct notes *n, const char *root);
/* Around each run. */
void notes_run_begins(struct notes *n);
void notes_run_ended(struct notes *n);

/* An array of sentences, for whoever calls to drop. */
json_t *notes_list(const struct notes *n);

#endif
