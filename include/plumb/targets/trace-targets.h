/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trace targets: the targets that the user names, and the mechanisms for them. */
#pragma once

#include <plumb/bpf/function/trace-targets.h>
#include <plumb/cost/calibrate.h>
#include <plumb/user/builds.h>
#include <plumb/user/targets.h>

struct plumb_trace_targets {
	/* Set by the tool: opens its skeleton; offset of the target's number in a row's key. */
	int (*open)(struct plumb_bpf *bpf, bool calibration);
	size_t target_at;

	const char *patterns[PLUMB_MAX_LIST]; /* as typed */
	size_t n_patterns;
	struct plumb_targets targets; /* that match the patterns */

	/*
	 * Used if single system calls (syscalls:*) are traced by raw_syscalls:*: the target's
	 * number plus 1, by direction and call number; 0: no target.  And sys_enter and sys_exit.
	 */
	uint32_t calls[PLUMB_DIRECTIONS][PLUMB_SYSCALLS];
	struct plumb_tracepoints raw_syscalls;
};

extern struct plumb_trace_targets plumb_trace_targets;

/* Called by its open(): the constants of the skeleton's programs (trace-targets.bpf.h). */
#define PLUMB_TRACE_TARGETS_CONFIGURE(skel, calibration)                                           \
	do {                                                                                       \
		(skel)->rodata->targets_single =                                                   \
			(calibration) || plumb_trace_targets.targets.n == 1;                       \
		memcpy((skel)->rodata->targets_calls, plumb_trace_targets.calls,                   \
		       sizeof(plumb_trace_targets.calls));                                         \
	} while (0)

/* Mechanisms that attach to many targets at once come first. */
#define PLUMB_TRACE_TARGETS_MECHANISMS 8
extern const struct plumb_mechanism plumb_trace_targets_mechanisms[PLUMB_TRACE_TARGETS_MECHANISMS];

/* What tools of nothing but trace targets share in struct plumb_tool. */
#define PLUMB_TRACE_TARGETS_TOOL                                                                   \
	.options.arguments = "TARGET... ", .keys.fields = &plumb_trace_targets_field,              \
	.keys.n_fields = 1, .measure.kind = PLUMB_COUNTS,                                          \
	.mechanisms.list = plumb_trace_targets_mechanisms,                                         \
	.mechanisms.n = PLUMB_TRACE_TARGETS_MECHANISMS,                                            \
	.mechanisms.functions = &plumb_trace_targets.targets.functions,                            \
	.mechanisms.attaching = &plumb_attaching, .lifecycle.reports_first = true,                 \
	.lifecycle.finish = plumb_trace_targets_finish, .files = &plumb_builds

/* The key "func", in struct plumb_tool's fields. */
extern const struct plumb_field plumb_trace_targets_field;

/* For plumb_tool_options.argument; and whether a pattern is of this kind. */
bool plumb_trace_targets_add(const char *text, bool number);
bool plumb_trace_targets_ask_for(enum plumb_target_kind kind);

/*
 * Called by its prepare(): finds the targets, and groups rows by target if there are several.  Sets
 * the mechanisms of TOOL that suit their number.  Returns 0 or -errno.
 */
int plumb_trace_targets_find(struct plumb_tool *tool, struct plumb_options *o);

/* Called by plumb_trace_targets_find(): sets calls and raw_syscalls; 0 or -errno. */
int plumb_trace_targets_number_calls(void);
/* The same: opens the files of user targets, and finds these; keeps USE. */
int plumb_trace_targets_find_users(const struct plumb_options *o,
				   const struct plumb_builds_use *use);
/* The same: whether the policy allows all targets; 0, or -errno after a message. */
int plumb_trace_targets_check_allowed(void);
/* RAW and PERF are as for plumb_probe_tracepoints(). */
int plumb_trace_targets_attach_calls(struct plumb_probes *probes, const struct bpf_object *object,
				     const char *raw, const char *perf, char *what, size_t size);

/*
 * Measures the ns that a fire adds, by MECHANISM on a self-test probe, which of a user function is
 * one that the kernel single-steps, or not; false: not possible.
 */
bool plumb_trace_targets_measure(struct plumb_run *run, const struct plumb_mechanism *mechanism,
				 bool is_stepped, struct plumb_interval *added);
/* Its calibrate(): measures mechanisms without attach targets, which the library does not. */
void plumb_trace_targets_calibrate(struct plumb_run *run);

size_t plumb_trace_targets_index(const struct plumb_row *row);

/* Its finish(): warns of targets that did not fire, by name if they are few. */
void plumb_trace_targets_finish(const struct plumb_run *run, const struct plumb_snapshot *total,
				uint64_t elapsed);
