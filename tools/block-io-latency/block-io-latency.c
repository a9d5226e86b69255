/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/bpf/core/copies.h>
#include <plumb/core/cli.h>
#include <plumb/core/inflight.h>
#include <plumb/core/log.h>
#include <plumb/core/report.h>
#include <plumb/core/run.h>
#include <plumb/core/tool.h>
#include <plumb/functions/block-hooks.h>
#include <plumb/functions/copies.h>
#include <plumb/recorder/slower.h>
#include <plumb/user/hook-try.h>

#include <bpf/libbpf.h>

#include "block-io-latency.h"

#include "block-io-latency.skel.h"
#include "requests.h"

static struct block_hooks hooks;
static struct plumb_slower slower = {.records = &block_slow_requests};
static bool stages;
static struct plumb_tool tool;

static const struct plumb_option options[] = {
	PLUMB_SLOWER_OPTIONS(slower, "request"),
	{0},
};

static void complete(struct plumb_options *o)
{
	plumb_slower_complete(&slower, &tool, o);
}

static int prepare(struct plumb_options *o)
{
	stages = block_requests_of(o, slower.asked);
	return block_hooks_find(o->btf, &hooks);
}

/* The first BLOCK_ENDS are of the ends of requests, which an interrupt can bring. */
#define BLOCK_ENDS 2

static const char *const hooked[] = {
	"request_completed", "bio_completed",    "request_merged", "bio_merged_behind",
	"bio_merged_before", "request_requeued", "request_issued", "request_inserted",
	"request_made",      "bio_made",         "bio_split",      "bio_submitted",
};

static void add_hook(struct plumb_bpf *bpf, const char *name)
{
	int n = 0;

	while (*bpf->hooks[n])
		n++;
	strcpy(bpf->hooks[n], name);
}

/* Loads only the programs, and as many copies of each, as this kernel and the options need. */
static void choose_programs(struct plumb_bpf *bpf)
{
	/* Where bios say that a request is made, commands for the driver begin when it is issued.
	 */
	const bool issues = stages || hooks.config.made_by_bio;

	add_hook(bpf, hooks.config.made_by_bio ? "block_getrq" : "block_io_start");
	plumb_copies_limit(bpf->object, hooks.config.made_by_bio ? "request_made" : "bio_made", 0);
	for (size_t i = 0; !hooks.preemptible && i < sizeof(hooked) / sizeof(hooked[0]); i++)
		plumb_copies_limit(bpf->object, hooked[i], i < BLOCK_ENDS ? PLUMB_END_COPIES : 1);
	if (hooks.has_merge)
		add_hook(bpf, "block_rq_merge");
	else
		plumb_copies_limit(bpf->object, "request_merged", 0);
	if (issues)
		add_hook(bpf, "block_rq_issue");
	else
		plumb_copies_limit(bpf->object, "request_issued", 0);
}

static int open_raw_tracepoint(struct plumb_bpf *bpf, bool calibration)
{
	struct block_io_latency_bpf *skel = block_io_latency_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "block_bio_queue", "block_split", "block_rq_insert",
			    "block_rq_requeue", "block_rq_complete", "block_bio_complete",
			    "block_bio_backmerge", "block_bio_frontmerge");
	choose_programs(bpf);
	/* Bios that io.max delays have their tracepoint after the delay, and by another thread. */
	if (plumb_hook_if_possible(skel->progs.bio_throttled, hooks.throttles))
		add_hook(bpf, hooks.throttles);
	memcpy((void *)&skel->rodata->block_config, &hooks.config, sizeof(hooks.config));
	*(struct block_selection *)&skel->rodata->block_selection = (struct block_selection){
		.min_ns = slower.min_ns, .slower = slower.asked, .stages = stages};
	bpf_map__set_max_entries(skel->maps.block_slow_requests, plumb_slower_room(&slower));
	return 0;
}

/* A copy is attached after those before it, which then run before it. */
static const char *const programs[] = {
	PLUMB_COPIES_OF("request_completed"),
	PLUMB_COPIES_OF("bio_completed"),
	PLUMB_COPIES_OF("request_merged"),
	PLUMB_COPIES_OF("bio_merged_behind"),
	PLUMB_COPIES_OF("bio_merged_before"),
	PLUMB_COPIES_OF("request_requeued"),
	PLUMB_COPIES_OF("request_issued"),
	PLUMB_COPIES_OF("request_inserted"),
	"request_made_0",
	"bio_made_0",
	PLUMB_COPIES_OF("bio_split"),
	PLUMB_COPIES_OF("bio_submitted"),
	"bio_throttled",
	NULL,
};

/* An end that is missed leaves the request in flight; other events only change its stages. */
static const char *const vital[] = {"bio_submitted_0", NULL};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "raw_tracepoint",
		.stability = "stable-ish: arguments of block tracepoints",
		.open = open_raw_tracepoint,
		.interleaved = true, /* an interrupt completes requests while others begin */
		/* With filters, a request whose beginning was missed is not known at its end. */
		.misses_are_calls = true,
		.vital = vital,
		.programs = programs,
	},
};

static const struct plumb_ring rings[] = {
	{"block_slow_requests", &plumb_in_order, &block_slow_requests},
	{},
};

static const struct plumb_column columns[] = {
	{"bytes", PLUMB_COLUMN_BYTES, "The bytes of the requests.", .id = 0},
	{},
};

static struct plumb_tool tool = {
	.card.name = "block-io-latency",
	.card.summary = "Summarize the latency of block I/O requests as percentiles, by disk, "
			"operation, size and submitter.",
	.card.about = "hooks:     raw tracepoints block_bio_queue, block_split, block_io_start\n"
		      "           (6.5; before: block_getrq), block_rq_insert, block_rq_issue\n"
		      "           (for stages, and before 6.5), block_rq_requeue,\n"
		      "           block_rq_merge, block_rq_complete, block_bio_backmerge,\n"
		      "           block_bio_frontmerge, block_bio_complete (stable-ish)\n"
		      "kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
		      "fire rate: three per request, four with stages: 1,000 to 1,000,000\n"
		      "           requests a second\n"
		      "cost:      see the footer\n",
	.options.list = options,
	.options.complete = complete,
	.keys.fields = block_fields,
	.keys.n_fields = BLOCK_N_FIELDS,
	.keys.size = sizeof(struct block_key),
	.keys.default_by = BLOCK_BY_DISK | BLOCK_BY_OP,
	.measure.errors = true,
	.measure.columns = columns,
	.measure.stage_by = BLOCK_BY_STAGE,
	.measure.stages = BLOCK_STAGES,
	.measure.stage_at = offsetof(struct block_key, stage),
	.view.footer = block_counts_print,
	.view.report_json = block_counts_json,
	.overhead.traced = "a traced request",
	.witness = &block_witness,
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle.prepare = prepare,
	.lifecycle.fill = block_requests_use,
	.rings = rings,
	.inflight = &block_inflight,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
