/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/base/log.h>
#include <plumb/session/trace-targets.h>
#include <plumb/report/stacks.h>
#include <stddef.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "func-stack.skel.h"

static struct plumb_tool tool;

static const struct argp_option options[] = {PLUMB_STACK_OPTIONS, {0}};

static int parse(int key, char *text, struct argp_state *state, struct plumb_options *o)
{
	(void)state;
	if (key == ARGP_KEY_END && !plumb_trace_targets.n_patterns)
		plumb_usage_error("the stacks of what? func-stack TARGET...");
	return plumb_stacks_parse(key, text, o);
}

static int prepare(struct plumb_options *o)
{
	return plumb_trace_targets_find(&tool, o);
}

static int open_stacks(struct plumb_bpf *bpf, bool calibration)
{
	struct func_stack_bpf *skel = func_stack_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "");
	skel->rodata->targets_single = calibration || plumb_trace_targets.targets.n == 1;
	memcpy(skel->rodata->targets_calls, plumb_trace_targets.calls,
	       sizeof(plumb_trace_targets.calls));
	/* The same stack may be met by several programs, and by one that is preempted. */
	bpf->config->interleaved = true;
	plumb_stacks_configure(skel->obj);
	return 0;
}

static struct plumb_tool tool = {
	.name = "func-stack",
	.question = "Who calls a function, or reaches a tracepoint: stacks of kernel and user, "
		    "counted.",
	.about = "hooks:     fentry.multi, fentry, kprobe.multi, kprobe on kernel functions\n"
		 "           (unstable: another kernel may have them inlined, renamed or gone),\n"
		 "           raw tracepoints and tracepoints (stable), uprobes on user functions\n"
		 "kernels:   5.10, 6.1, 6.12, 7.2 emulated, 6.18 locked down (without kernel\n"
		 "           functions); x86_64\n"
		 "fire rate: that of the targets: func-count tells it\n"
		 "cost:      see the footer; most of it is taking stacks\n",
	.options = options,
	.parse = parse,
	.arguments = "TARGET... ",
	.argument = plumb_trace_targets_add,
	.prepare = prepare,
	.calibrate = plumb_trace_targets_calibrate,
	.finish = plumb_trace_targets_finish,
	.fields = &plumb_trace_targets_field,
	.n_fields = 1,
	.key_size = sizeof(struct plumb_stack_key),
	.default_by = PLUMB_BY_COMM | PLUMB_BY_PID,
	.counts_only = true,
	.no_errors = true,
	.no_table = true,
	.max_keys = 16384,
	.counts_live = true,
	.rings = plumb_stacks_rings,
	.print = plumb_stacks_print,
	.rows_json = plumb_stacks_rows_json,
	.save = plumb_stacks_save,
	.footer = plumb_stacks_footer,
	.functions = &plumb_trace_targets.targets.functions,
	.mechanisms = plumb_trace_targets_mechanisms,
	.n_mechanisms = PLUMB_TRACE_TARGETS_MECHANISMS,
};

int main(int argc, char **argv)
{
	plumb_trace_targets.open = open_stacks;
	plumb_trace_targets.target_at = offsetof(struct plumb_stack_key, what);
	return plumb_main(argc, argv, &tool);
}
