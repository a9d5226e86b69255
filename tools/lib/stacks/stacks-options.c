/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and footer of tools whose rows are stacks. */
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

struct plumb_stacks_options plumb_stacks_options = {.max = 16384};

/* As many rows as stacks, if memory allows. */
static uint64_t default_max_keys(void)
{
	uint64_t most = MAX_TOTALS / sizeof(struct plumb_totals) / libbpf_num_possible_cpus();

	return plumb_stacks_options.max < most ? plumb_stacks_options.max : most;
}

bool plumb_stacks_options_given(void)
{
	const struct plumb_stacks_options *o = &plumb_stacks_options;

	return o->folded || o->inlines || o->max_given || o->flame || o->diff;
}

void plumb_stacks_finish(struct plumb_options *o)
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
	if (!o->top)
		o->top = TOP;
	o->by |= PLUMB_BY_STACK;
	plumb_stacks_begin();
}

void plumb_stacks_configure(struct bpf_object *object)
{
	bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "plumb_stacks"),
				 plumb_stacks_options.max);
}

void plumb_stacks_footer(FILE *out)
{
	const struct plumb_symbolizer_counts *c = plumb_symbolizer_counts(plumb_stacks_symbolizer);
	const char *obstacle = plumb_symbolizer_obstacle(plumb_stacks_symbolizer);

	char text[160];

	if (obstacle) {
		snprintf(text, sizeof(text), "symbols: %s", obstacle);
		plumb_print_wrapped(text, out);
	}
	if (c->foreign)
		fprintf(out, "symbols: %llu files of other users were not read\n",
			(unsigned long long)c->foreign);
	if (c->unknown)
		fprintf(out, "symbols: %llu of %llu addresses have no function's name\n",
			(unsigned long long)c->unknown, (unsigned long long)c->addresses);
}
