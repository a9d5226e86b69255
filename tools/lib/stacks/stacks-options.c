/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* options of tools whose rows are stacks */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>
#include <plumb/pictures/picture.h>

#include <bpf/libbpf.h>

#define TOP 20

/* Maximum size of the rows' totals on all CPUs (snapshot.c). */
#define MAX_TOTALS (128ULL << 20)

/* As many rows as stacks, if memory allows. */
static uint64_t default_max_keys(void)
{
	uint64_t most = MAX_TOTALS / sizeof(struct plumb_totals) / libbpf_num_possible_cpus();

	return plumb_stacks_options.max < most ? plumb_stacks_options.max : most;
}

void plumb_stacks_complete(struct plumb_options *o)
{
	if (plumb_stacks_options.folded && o->json)
		plumb_usage_error("--folded and --json exclude each other");
	if (plumb_stacks_options.diff && !plumb_stacks_options.flame)
		plumb_usage_error("--diff takes --flame, whose graph it colours");
	if (plumb_stacks_options.diff && plumb_flame_base_read(plumb_stacks_options.diff))
		exit(PLUMB_EXIT_FAILED);
	if (plumb_flame_check(plumb_stacks_options.flame, o->check_only))
		exit(PLUMB_EXIT_FAILED);
	if (!o->max_keys_given)
		o->max_keys = default_max_keys();
	if (!o->top_given)
		o->top = TOP;
	o->by |= PLUMB_BY_STACK;
}
