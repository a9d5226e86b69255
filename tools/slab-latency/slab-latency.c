/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/report.h>
#include <plumb/core/run.h>
#include <plumb/functions/probe.h>
#include <plumb/functions/timed-functions.h>

#include <bpf/libbpf.h>

#include "fields.h"
#include "targets.h"

#include "slab-latency-events.skel.h"
#include "slab-latency-session-610.skel.h"
#include "slab-latency-session-700.skel.h"
#include "slab-latency.skel.h"

static struct slab_targets targets;
static struct plumb_options *chosen;
static struct plumb_tool tool;
static bool frees;

/* clang-format off */
static const struct plumb_option options[] = {
	{"frees", 0, NULL, "also trace kfree, kmem_cache_free and bulk frees", 30, .given = &frees},
	{0},
};
/* clang-format on */

static void complete(struct plumb_options *o)
{
	if (frees)
		o->by |= SLAB_BY_OP;
}

static int prepare(struct plumb_options *o)
{
	const bool events = o->mechanism && !strcmp(o->mechanism, "raw_tracepoint");
	int err = slab_targets_find(o->btf, o->by, frees, events, &targets);

	chosen = o;
	tool.mechanisms.functions = &targets.functions;
	tool.mechanisms.attaching = &plumb_attaching;
	if (o->by & SLAB_BY_CALLER)
		slab_fields_begin();
	if (o->by & SLAB_BY_CACHE)
		slab_merged_read();
	return err;
}

/* ---- functions ---- */

static void configure(struct plumb_bpf *bpf, struct slab_config *config, bool calibration)
{
	*config = targets.config;
	if (calibration) /* another function: what it does is recorded as an allocation */
		config->at[0].what = SLAB_ALLOC;
	bpf->function->nested = true;
	bpf->no_storage = true;
}

PLUMB_FUNCTION_OPENS(slab_latency, slab_config, configure)

/* ---- tracepoints ---- */

static const char *const programs[] = {"on_kmalloc", "on_kmalloc_node", "on_alloc", "on_alloc_node",
				       "on_free",    "on_kfree",        NULL};

/* Tracepoints have no times: from here on, the tool counts. */
static int open_events(struct plumb_bpf *bpf, bool calibration)
{
	struct slab_latency_events_bpf *skel =
		slab_latency_events_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "kmalloc", "kmem_cache_alloc");
	slab_addresses_find(&targets.config);
	*(struct slab_config *)&skel->rodata->slab_config = targets.config;
	bpf_program__set_autoload(skel->progs.on_kmalloc_node, targets.node_events);
	bpf_program__set_autoload(skel->progs.on_alloc_node, targets.node_events);
	bpf_program__set_autoload(skel->progs.on_free, frees);
	bpf_program__set_autoload(skel->progs.on_kfree, frees);
	if (frees) {
		strcpy(bpf->hooks[2], "kfree");
		strcpy(bpf->hooks[3], "kmem_cache_free");
	}
	/* An interrupt can allocate inside another program's fire. */
	bpf->config->interleaved = true;
	tool.measure.kind = PLUMB_COUNTS;
	chosen->by &= ~SLAB_BY_PATH;
	return 0;
}

/* Whether a column is of times, which tracepoints have not. */
static int is_of_times(const char *name, void *context)
{
	return !strstr(" calls rate share errors asked given ", name);
}

static const char *times_unsupported(const struct plumb_options *o)
{
	if (o->by_given && o->by & SLAB_BY_PATH)
		return "tracepoints do not have the path";
	if ((o->sort && is_of_times(o->sort, NULL)) ||
	    (o->columns && plumb_parse_list(o->columns, is_of_times, NULL)))
		return "tracepoints have no latency to show or to sort by";
	return NULL;
}

static const struct plumb_mechanism mechanisms[] = {
	PLUMB_FUNCTION_MECHANISMS,
	{
		.name = "raw_tracepoint",
		.stability = "stable",
		.unsupported = times_unsupported,
		.open = open_events,
		.programs = programs,
	},
};

static const struct plumb_column columns[] = {
	{"asked", PLUMB_COLUMN_BYTES, "The sum of the sizes asked for, bytes.", .id = 0},
	{"given", PLUMB_COLUMN_BYTES, "The sum of the sizes given, bytes.", .id = 1},
	{},
};

static void add_to_row(json_t *json, const struct plumb_report *r, const struct plumb_row *row)
{
	if (r->run->options.by & SLAB_BY_CACHE && row->slot)
		json_object_set_new(json, "merged", slab_merged_json(row->key));
}

static void use_names(const struct plumb_run *run)
{
	slab_fields_use(run->instance.bpf.object);
}

static void print_footer(FILE *out)
{
	if (tool.measure.kind == PLUMB_COUNTS)
		fprintf(out, "latency: not measured, tracepoints have none: it needs kernel "
			     "functions\n");
}

static struct plumb_tool tool = {
	.card.name = "slab-latency",
	.card.summary = "Summarize slab allocation latency as percentiles, by cache, caller or "
			"process, the slow path apart.",
	.card.about =
		"hooks:     fsession, fentry and fexit, kprobe.session, kprobe.multi, kprobe\n"
		"           and kretprobe on the allocator's functions (unstable); else raw\n"
		"           tracepoints kmalloc and kmem_cache_alloc (stable): counts and\n"
		"           bytes, no latency\n"
		"kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down (counts);\n"
		"           x86_64\n"
		"fire rate: 10,000 to 2,000,000 allocations a second\n"
		"cost:      measured at each start on another function, see the footer\n",
	.options.list = options,
	.options.complete = complete,
	.keys.fields = slab_fields,
	.keys.n_fields = SLAB_N_FIELDS,
	.keys.size = sizeof(struct slab_key),
	.keys.default_by = SLAB_BY_CACHE | SLAB_BY_CALLER | SLAB_BY_PATH,
	.keys.max = 1024,
	.measure.errors = true,
	.measure.rate = true,
	.measure.columns = columns,
	.view.footer = print_footer,
	.view.row_json = add_to_row,
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle.prepare = prepare,
	.lifecycle.settle = use_names,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
