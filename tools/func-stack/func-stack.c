/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <plumb/bpf/stack/unwind.h>
#include <plumb/core/tracer.h>
#include <plumb/stacks/stacks.h>
#include <plumb/targets/trace-targets.h>

#include "func-stack.skel.h"

static struct plumb_tool tool;

static const struct plumb_option options[] = {PLUMB_STACK_OPTIONS, {0}};

static void complete(struct plumb_options *o)
{
	if (!plumb_trace_targets.n_patterns)
		plumb_usage_error("no target: func-stack TARGET...");
}

static int prepare(struct plumb_options *o)
{
	return plumb_trace_targets_find(&tool, o);
}

/* The function of a user target, if its probe is at its first instruction; NULL: it is not. */
static const char *name_first(const struct plumb_stack_key *key)
{
	const struct plumb_userfunc *u =
		plumb_targets_at(&plumb_trace_targets.targets, key->what).userfunc;

	return u && !u->is_inside && !u->n_places ? u->name : NULL;
}

static bool are_entries(void)
{
	const struct plumb_targets *t = &plumb_trace_targets.targets;

	for (size_t i = t->functions.n + t->tracepoints.n; i < t->n; i++)
		if (!name_first(&(struct plumb_stack_key){.what = i}))
			return false;
	return true;
}

static int open_stacks(struct plumb_bpf *bpf, bool calibration)
{
	struct func_stack_bpf *skel;

	plumb_probe_note_functions();
	skel = func_stack_bpf__open_opts(plumb_open_opts());
	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "");
	PLUMB_TRACE_TARGETS_CONFIGURE(skel, calibration);
	skel->rodata->targets_with_caller = are_entries();
	skel->rodata->unwind_without_hints = true;
	plumb_stacks_first = name_first;
	/* Several programs can record the same stack, while one of them is preempted. */
	bpf->config->interleaved = true;
	return 0;
}

static struct plumb_tool tool = {
	.card.name = "func-stack",
	.card.summary = "Count the kernel and user stacks that reach a function or a tracepoint.",
	.card.about =
		"hooks:     fentry.multi, fentry, kprobe.multi, kprobe on kernel functions\n"
		"           (unstable: another kernel may not have them),\n"
		"           raw tracepoints and tracepoints (stable), uprobes on user functions\n"
		"kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down (without kernel\n"
		"           functions); x86_64\n"
		"fire rate: that of the targets: func-count shows it\n"
		"cost:      see the footer; most of it is taking stacks\n",
	.options.list = options,
	.options.complete = complete,
	PLUMB_TRACE_TARGETS_TOOL,
	.options.argument = plumb_trace_targets_add,
	.options.lacks = PLUMB_NO_COLUMN_OPTIONS,
	.keys.size = sizeof(struct plumb_stack_key),
	.keys.default_by = PLUMB_BY_COMM,
	.keys.max = 16384,
	.overhead.calibrate = plumb_trace_targets_calibrate,
	.lifecycle.prepare = prepare,
	.stacking = &plumb_stacking,
};

int main(int argc, char **argv)
{
	plumb_trace_targets.open = open_stacks;
	plumb_trace_targets.target_at = offsetof(struct plumb_stack_key, what);
	return plumb_main(argc, argv, &tool);
}
