/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/base/cli.h>
#include <plumb/base/log.h>
#include <plumb/kernel/block-hooks.h>
#include <plumb/tool/tool.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "block-io-latency.h"

#include "block-io-latency.skel.h"
#include "fields.h"
#include "requests.h"

enum { STAGE = 0x2000 };

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Times:", 40},
	{"stage", STAGE, "STAGE", 0,
	 "measure whole requests (whole, the default), until they are issued to the driver "
	 "(queued), or from then on (device)",
	 40},
	{0},
};

static struct block_hooks hooks;
static uint32_t stage = BLOCK_WHOLE;

static uint32_t parse_stage(const char *text)
{
	static const char *const names[] = {
		[BLOCK_WHOLE] = "whole", [BLOCK_QUEUED] = "queued", [BLOCK_DEVICE] = "device"};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], text))
			return i;
	plumb_usage_error("--stage: whole, queued or device, not %s", text);
}

static int parse(int key, char *text, struct argp_state *state, struct plumb_options *o)
{
	(void)state;
	(void)o;
	switch (key) {
	case STAGE:
		stage = parse_stage(text);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int prepare(struct plumb_options *o)
{
	int err = block_hooks_find(o->btf, &hooks);

	block_has_status = hooks.config.has_status;
	return err;
}

static void disable(const struct bpf_object *object, const char *program)
{
	bpf_program__set_autoload(bpf_object__find_program_by_name(object, program), false);
}

static int open_raw_tracepoint(struct plumb_bpf *bpf, bool calibration)
{
	struct block_io_latency_bpf *skel = block_io_latency_bpf__open_opts(plumb_open_opts());
	struct block_config config = hooks.config;

	(void)calibration;
	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "block_io_start", "block_rq_insert", "block_rq_issue",
			    "block_rq_requeue", "block_rq_complete", "block_bio_backmerge",
			    "block_bio_frontmerge", "block_rq_merge");
	if (config.by_bio)
		strcpy(bpf->hooks[0], "block_getrq");
	if (!hooks.has_merge)
		*bpf->hooks[7] = 0;
	config.stage = stage;
	memcpy((void *)&skel->rodata->block_config, &config, sizeof(config));
	disable(bpf->object, config.by_bio ? "request_made" : "bio_made");
	if (!hooks.has_merge)
		disable(bpf->object, "request_merged");
	return 0;
}

static const char *const programs[] = {
	"request_completed", "request_merged",
	"bio_merged_behind", "bio_merged_before",
	"request_requeued",  "request_issued",
	"request_inserted",  "request_made",
	"bio_made",          NULL,
};

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "raw_tracepoint",
		.stability = "stable-ish: arguments of block tracepoints",
		.open = open_raw_tracepoint,
		.interleaved = true, /* an interrupt completes requests while others begin */
		/* With filters, a request whose beginning was missed is not known at its end. */
		.misses_are_calls = true,
		.programs = programs,
	},
};

static struct plumb_tool tool = {
	.card.name = "block-io-latency",
	.card.summary = "Summarize the latency of block I/O requests as percentiles, by disk, "
			"operation, size and submitter.",
	.card.about = "hooks:     raw tracepoints block_io_start (6.5; before: block_getrq),\n"
		      "           block_rq_insert, block_rq_issue, block_rq_requeue,\n"
		      "           block_rq_merge, block_rq_complete, block_bio_backmerge,\n"
		      "           block_bio_frontmerge (stable-ish)\n"
		      "kernels:   5.10, 6.1, 6.12 emulated, 6.18 locked down; x86_64;\n"
		      "           7.3 emulated, where preemption can lose requests\n"
		      "fire rate: four per request: 1,000 to 1,000,000 requests a second\n"
		      "cost:      see the footer\n",
	.options.list = options,
	.options.parse = parse,
	.keys.fields = block_fields,
	.keys.n_fields = BLOCK_N_FIELDS,
	.keys.size = sizeof(struct block_key),
	.keys.default_by = BLOCK_BY_DISK | BLOCK_BY_OP,
	.measure.errors = true,
	.measure.extra = {"bytes"},
	.view.footer = block_counts_print,
	.view.report_json = block_counts_json,
	.overhead.traced = "a traced request",
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle.prepare = prepare,
	.lifecycle.fill = block_requests_use,
	.inflight = &block_inflight,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
