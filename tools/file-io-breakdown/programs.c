/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "programs.h"

#include <plumb/bpf/core/copies.h>
#include <plumb/core/program.h>
#include <plumb/functions/copies.h>
#include <plumb/functions/exchange.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/*
 * Where the kernel refuses compare-and-exchange, the store in its place always succeeds; not in
 * functions that are not inlined, so that ONLY_WITHOUT takes the place of ONLY_WITH then.
 */
static int prepare_exchange(struct bpf_object *object, const char *only_with,
			    const char *only_without)
{
	const int lacks = plumb_exchanges_to_stores(object);
	struct bpf_program *p =
		bpf_object__find_program_by_name(object, lacks ? only_with : only_without);

	return lacks < 0 ? lacks : bpf_program__set_autoload(p, false);
}

/* --- copies of the programs that follow I/O, where these can be preempted --- */

static const char *const names[] = {
	"request_completed", "bio_completed", "request_requeued", "request_issued",
	"bio_split_off",     "bio_mapped",    "bio_queued",
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))
#define N_ENDS  2

static void choose_copies(struct bpf_object *object, bool preemptible)
{
	for (size_t i = 0; !preemptible && i < N_NAMES; i++) {
		plumb_copies_limit(object, names[i], i < N_ENDS ? PLUMB_END_COPIES : 1);
		/* Another program takes their place before 5.12. */
		if (!bpf_program__autoload(plumb_copy_of(object, names[i], 0)))
			plumb_copies_limit(object, names[i], 0);
	}
}

int programs_choose(struct bpf_object *object, bool preemptible)
{
	int err = prepare_exchange(object, "request_completed_0", "request_completed_inlined");

	choose_copies(object, preemptible);
	return err;
}

/* The executions of hook I that none of its loaded copies has seen, at most; UINT64_MAX: unknown.
 */
static uint64_t unseen(const struct bpf_object *object, size_t i)
{
	uint64_t least = UINT64_MAX, missed;
	struct bpf_program *p;

	for (int copy = 0; copy < PLUMB_COPIES; copy++) {
		missed = 0;
		p = plumb_copy_of(object, names[i], copy);
		if (!bpf_program__autoload(p))
			continue;
		if (!plumb_program_missed(bpf_program__fd(p), &missed))
			return UINT64_MAX;
		/* What one has not seen, the others may have. */
		least = missed < least ? missed : least;
	}
	return least;
}

uint64_t programs_unseen(const struct bpf_object *object)
{
	uint64_t sum = 0, one;

	for (size_t i = 0; i < N_NAMES; i++) {
		one = unseen(object, i);
		if (one == UINT64_MAX)
			return one;
		sum += one;
	}
	return sum;
}
