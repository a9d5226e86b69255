/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "copies.h"

#include <plumb/attach/probe.h>
#include <stddef.h>
#include <stdio.h>

#include <bpf/libbpf.h>

#include "file-io-breakdown.h"

static const char *const names[] = {
	"request_completed", "request_requeued", "request_issued", "bio_completed",
	"bio_split_off",     "bio_mapped",       "bio_queued",
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

static struct bpf_program *find(struct bpf_object *object, size_t of, int copy)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_%d", names[of], copy);
	return bpf_object__find_program_by_name(object, name);
}

void copies_choose(struct bpf_object *object, bool preemptible)
{
	for (size_t i = 0; !preemptible && i < N_NAMES; i++)
		for (int copy = 1; copy < IO_COPIES; copy++)
			bpf_program__set_autoload(find(object, i, copy), false);
}

uint64_t copies_unseen(struct bpf_object *object, bool preemptible)
{
	uint64_t sum = 0, least, missed;
	struct bpf_program *p;

	for (size_t i = 0; i < N_NAMES; i++) {
		least = UINT64_MAX;
		for (int copy = 0; copy < (preemptible ? IO_COPIES : 1); copy++) {
			missed = 0;
			p = find(object, i, copy);
			if (bpf_program__autoload(p) &&
			    !plumb_program_missed(bpf_program__fd(p), &missed))
				return UINT64_MAX;
			/* What one has not seen, the others may have. */
			least = missed < least ? missed : least;
		}
		sum += least;
	}
	return sum;
}
