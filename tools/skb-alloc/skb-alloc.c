/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/timed-functions.h>
#include <plumb/stacks/stacks.h>

#include "skb-alloc-session-610.skel.h"
#include "skb-alloc-session-700.skel.h"
#include "skb-alloc-stacks.skel.h"
#include "skb-alloc.skel.h"

static struct plumb_functions functions;
static struct plumb_tool tool;
static bool latency, stacks;

/* With --stacks the tool has other keys and another output. */
static void become_stacks(struct plumb_options *o)
{
	if (tool.measure.second)
		plumb_usage_error("--stacks and --latency exclude each other");
	tool.keys = (struct plumb_keys){.size = sizeof(struct plumb_stack_key),
					.default_by = tool.keys.default_by};
	tool.measure = (struct plumb_measure){.kind = PLUMB_COUNTS, .errors = true};
	stacks = true;
}

/* clang-format off */
static const struct plumb_option options[] = {
	{"latency", 0, NULL, "also report the time that allocations took, below their sizes", 40, .given = &latency},
	{"stacks", 0, NULL, "report the stacks that allocate, by number of buffers", 40, .given = &stacks},
	PLUMB_STACK_OPTIONS,
	{0},
};
/* clang-format on */

/* No other mode uses these. */
static bool asks_for_stacks(void)
{
	const struct plumb_stacks_options *o = &plumb_stacks_options;

	return stacks || o->folded || o->inlines || o->max_given || o->flame || o->diff;
}

static void complete(struct plumb_options *o)
{
	if (latency)
		tool.measure.second = "latency";
	if (asks_for_stacks())
		become_stacks(o);
	else
		tool.stacking = NULL;
	if (!latency && o->mechanism && strstr(o->mechanism, "session"))
		plumb_usage_error("--mechanism=%s requires --latency", o->mechanism);
}

static void configure(struct plumb_bpf *bpf, const void *unused, bool calibration)
{
	bpf->function->takes_args = true;
}

PLUMB_FUNCTION_OPENS(skb_alloc, function_config, configure)

static const struct plumb_mechanism both_ends[] = {
	PLUMB_FUNCTION_MECHANISMS,
};

static int open_stacks(struct plumb_bpf *bpf, bool calibration)
{
	struct skb_alloc_stacks_bpf *skel;

	plumb_probe_note_functions();
	skel = skb_alloc_stacks_bpf__open_opts(plumb_open_opts());
	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "");
	return 0;
}

static const struct plumb_attach_target fentry[] = {{"count_fentry", PLUMB_FENTRY}, {}};
static const struct plumb_attach_target multi[] = {{"count_multi", PLUMB_KPROBE_MULTI}, {}};
static const struct plumb_attach_target kprobe[] = {{"count_kprobe", PLUMB_KPROBE}, {}};

static const struct plumb_mechanism beginning[] = {
	PLUMB_FUNCTION_MECHANISM("fentry", open_plain, fentry),
	PLUMB_FUNCTION_MECHANISM("kprobe.multi", open_plain, multi),
	PLUMB_FUNCTION_MECHANISM("kprobe", open_plain, kprobe),
};

static const struct plumb_mechanism beginning_stacks[] = {
	PLUMB_FUNCTION_MECHANISM("fentry", open_stacks, fentry),
	PLUMB_FUNCTION_MECHANISM("kprobe.multi", open_stacks, multi),
	PLUMB_FUNCTION_MECHANISM("kprobe", open_stacks, kprobe),
};

static int prepare(struct plumb_options *o)
{
	static const char *const pattern = "__alloc_skb";

	if (!tool.measure.second) {
		tool.mechanisms.list = stacks ? beginning_stacks : beginning;
		tool.mechanisms.n = sizeof(beginning) / sizeof(beginning[0]);
	}
	return plumb_functions_find(&pattern, 1, o->btf, &functions) ? -EOPNOTSUPP : 0;
}

static struct plumb_tool tool = {
	.card.name = "skb-alloc",
	.card.summary = "Count socket buffer allocations by process, cgroup or container, with "
			"rates, sizes and latency.",
	.card.about =
		"hooks:     the kernel function __alloc_skb (unstable, but the same from 5.10\n"
		"           to 7.3), by fentry, kprobe.multi or kprobe on its entry; with\n"
		"           --latency by fsession, fentry and fexit, kprobe.session,\n"
		"           kprobe.multi or kprobe and kretprobe on entry and return\n"
		"kernels:   5.10, 6.1, 6.12, 7.3 emulated; x86_64\n"
		"fire rate: two or more per TCP segment: up to 1,000,000 a second\n"
		"cost:      measured at each start on another function, see the footer\n",
	.options.list = options,
	.options.lacks = PLUMB_NO_TIME_OPTIONS,
	.options.complete = complete,
	.keys.size = sizeof(struct plumb_who),
	.keys.default_by = PLUMB_BY_COMM | PLUMB_BY_PID,
	.measure.kind = PLUMB_SIZES,
	.measure.errors = true,
	.witness = &plumb_function_witness,
	.mechanisms.list = both_ends,
	.mechanisms.n = sizeof(both_ends) / sizeof(both_ends[0]),
	.mechanisms.functions = &functions,
	.mechanisms.attaching = &plumb_attaching,
	.lifecycle.prepare = prepare,
	.stacking = &plumb_stacking, /* with --stacks */
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
