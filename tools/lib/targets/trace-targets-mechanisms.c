/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* trace targets: the mechanisms for kernel functions, tracepoints and user functions. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/functions/probe.h>
#include <plumb/kernel/kernel.h>
#include <plumb/targets/trace-targets.h>
#include <plumb/user/probe-userfuncs.h>
#include <plumb/user/self-test.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* How a mechanism attaches to tracepoints and user functions. */
enum {
	CALIBRATION = 1,
	RAW = 2,        /* as raw tracepoints where possible */
	MULTI = 4,      /* one program for all functions of a file */
	SINGLE = 8,     /* a copy for each */
	FUNCTIONS = 16, /* to kernel functions, too */
};

static int attach_file(const struct plumb_bpf *bpf, struct plumb_probes *probes,
		       const struct plumb_userfuncs *u, size_t first,
		       const struct plumb_build *build, char *what, size_t size)
{
	static const struct plumb_attach_target single = {"fired_uprobe", PLUMB_UPROBE};
	static const struct plumb_attach_target multi = {"fired_uprobe_multi", PLUMB_UPROBE_MULTI};
	bool at_once = bpf->mode & MULTI || (u->n > PLUMB_FEW && !(bpf->mode & SINGLE));
	size_t refused = probes->refused;
	int err = -ENOENT;

	if (at_once)
		err = plumb_probe_userfuncs(probes, bpf->object, &multi, u, first, build->number,
					    what, size);
	if (!err || bpf->mode & MULTI)
		return err;
	probes->refused = refused;
	return plumb_probe_userfuncs(probes, bpf->object, &single, u, first, build->number, what,
				     size);
}

static int attach_tracepoints(const struct plumb_bpf *bpf, struct plumb_probes *probes,
			      const struct plumb_tracepoints *t, size_t first, char *what,
			      size_t size)
{
	return plumb_probe_tracepoints(probes, bpf->object, bpf->mode & RAW ? "fired_raw" : NULL,
				       "fired_tracepoint", t, first, what, size);
}

static int attach_targets(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			  size_t size)
{
	int err = attach_tracepoints(bpf, probes, &plumb_trace_targets.targets.tracepoints,
				     plumb_trace_targets.targets.functions.n, what, size);

	if (!err)
		err = plumb_trace_targets_attach_calls(probes, bpf->object,
						       bpf->mode & RAW ? "fired_raw_call" : NULL,
						       "fired_tp_call", what, size);
	return err ?: plumb_builds_attach(bpf, probes, what, size);
}

/* Attaches to the tracepoint or user function that the calibration triggers. */
static int attach_self_test(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			    size_t size)
{
	struct plumb_tracepoints t;
	int err;

	if (bpf->mode & (MULTI | SINGLE))
		return plumb_builds_attach_self_test(bpf, probes, what, size);
	err = plumb_self_test_find_tracepoint(&t);
	if (err)
		return err;
	err = attach_tracepoints(bpf, probes, &t, 0, what, size);
	plumb_tracepoints_free(&t);
	return err;
}

/* Whether a file has many functions, on a kernel that may support uprobe.multi. */
static bool are_many(void)
{
	bool many = false;

	for (size_t i = 0; i < plumb_trace_targets.targets.n_files; i++)
		many |= plumb_trace_targets.targets.files[i].n > PLUMB_FEW;
	return many && plumb_probes_have_cookies();
}

/* The programs that MODE needs; ended by NULL. */
static const char *const *list_programs(int mode)
{
	static const char *names[7];
	bool tracepoints = plumb_trace_targets.targets.tracepoints.n,
	     users = plumb_trace_targets.targets.n_files;
	size_t n = 0;

	if (mode & CALIBRATION && mode & FUNCTIONS)
		tracepoints = users = false;
	else if (mode & CALIBRATION && mode & (MULTI | SINGLE))
		tracepoints = false;
	else if (mode & CALIBRATION)
		users = false;
	if (tracepoints && mode & RAW)
		names[n++] = "fired_raw";
	if (tracepoints)
		names[n++] = "fired_tracepoint";
	if (tracepoints && plumb_trace_targets.raw_syscalls.n && mode & RAW)
		names[n++] = "fired_raw_call";
	if (tracepoints && plumb_trace_targets.raw_syscalls.n)
		names[n++] = "fired_tp_call";
	if (users && !(mode & MULTI))
		names[n++] = "fired_uprobe";
	if (users && (mode & MULTI || (!(mode & SINGLE) && are_many())))
		names[n++] = "fired_uprobe_multi";
	names[n] = NULL;
	return names;
}

/* How a tracepoint is attached: by raw_syscalls and the call's number, raw, or as a perf event. */
enum by { BY_NUMBER, BY_RAW, BY_EVENT, BYS };

static enum by attached_by(const struct plumb_tracepoint *t, int mode)
{
	if (t->by_number)
		return BY_NUMBER;
	return mode & RAW && t->is_raw ? BY_RAW : BY_EVENT;
}

/*
 * Lists how the tracepoints of PATTERN, "t:...", are attached; "" if all are by the mechanism's own
 * hook.
 */
static const char *name_by(const char *pattern, int mode, char *text, size_t size)
{
	static const char *const names[BYS] = {"raw_syscalls", "raw tracepoint", "tracepoint"};
	const struct plumb_tracepoints *t = &plumb_trace_targets.targets.tracepoints;
	bool any[BYS] = {};
	char name[256];
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		if (!fnmatch(pattern, plumb_tracepoint_name(&t->list[i], name, sizeof(name)), 0))
			any[attached_by(&t->list[i], mode)] = true;
	*text = 0;
	if (!(mode & FUNCTIONS) && !any[BY_NUMBER] && !any[mode & RAW ? BY_EVENT : BY_RAW])
		return text;
	for (int i = 0; i < BYS; i++)
		if (any[i])
			n += snprintf(text + n, size - n, "%s%s", n ? ", " : " (", names[i]);
	snprintf(text + n, size - n, ")");
	return text;
}

/* Names the patterns as hooks, each with its own hook if that is not the mechanism's. */
static void name_hooks(struct plumb_bpf *bpf)
{
	const size_t room = sizeof(bpf->hooks[0]);
	const char *pattern, *by;
	char text[64];
	size_t i;

	for (i = 0; i < plumb_trace_targets.n_patterns && i < PLUMB_MAX_HOOKS - 1; i++) {
		pattern = plumb_trace_targets.patterns[i];
		by = "";
		if (plumb_target_kind(pattern) == PLUMB_TARGET_TRACEPOINT)
			by = name_by(pattern, bpf->mode, text, sizeof(text));
		else if (plumb_target_kind(pattern) == PLUMB_TARGET_USER &&
			 !(bpf->mode & (MULTI | SINGLE)))
			by = " (uprobe)";
		snprintf(bpf->hooks[i], room, "%.*s%s", (int)(room - strlen(by) - 1), pattern, by);
	}
	if (i < plumb_trace_targets.n_patterns)
		snprintf(bpf->hooks[i - 1], room, "and %zu more",
			 plumb_trace_targets.n_patterns - i + 1);
}

static bool prefers_raw(void)
{
	return !plumb_raw_tracepoints_can_be_preempted();
}

static int open_mode(struct plumb_bpf *bpf, bool calibration)
{
	int mode = bpf->mode, err = plumb_trace_targets.open(bpf, calibration);

	if (err)
		return err;
	if (mode & FUNCTIONS && prefers_raw())
		mode |= RAW;
	bpf->mode = mode | (calibration ? CALIBRATION : 0);
	bpf->copied = list_programs(bpf->mode);
	if (!calibration)
		bpf->attach = attach_targets;
	else if (!(mode & FUNCTIONS))
		bpf->attach = attach_self_test;
	name_hooks(bpf);
	return plumb_probe_prepare(
		bpf_object__find_program_by_name(bpf->object, "fired_uprobe_multi"),
		PLUMB_UPROBE_MULTI, NULL);
}

static const char *no_functions(const struct plumb_options *o)
{
	return plumb_trace_targets_ask_for(PLUMB_TARGET_FUNCTION)
		       ? NULL
		       : "no target is a kernel function";
}

static const char *no_tracepoints(const struct plumb_options *o)
{
	if (plumb_trace_targets_ask_for(PLUMB_TARGET_FUNCTION))
		return "some targets are kernel functions";
	return plumb_trace_targets_ask_for(PLUMB_TARGET_TRACEPOINT) ? NULL
								    : "no target is a tracepoint";
}

/* Until the targets are found, this mechanism is not excluded. */
static const char *no_raw(const struct plumb_options *o)
{
	const struct plumb_targets *t = &plumb_trace_targets.targets;
	const char *unsupported = no_tracepoints(o);
	bool any = !t->n;

	for (size_t i = 0; i < t->tracepoints.n; i++)
		any |= t->tracepoints.list[i].is_raw;
	return unsupported || any ? unsupported : "no target is a raw tracepoint";
}

static const char *not_only_users(const struct plumb_options *o)
{
	return plumb_trace_targets_ask_for(PLUMB_TARGET_FUNCTION) ||
			       plumb_trace_targets_ask_for(PLUMB_TARGET_TRACEPOINT)
		       ? "some targets are no user functions"
		       : NULL;
}

static const char *raw_skipped(void)
{
	return prefers_raw() ? NULL
			     : "its programs can be preempted here, and fires missed meanwhile";
}

static const struct plumb_attach_target fentry_multi[] = {
	{"fired_fentry_multi", PLUMB_FENTRY_MULTI}, {}};
static const struct plumb_attach_target fentry[] = {{"fired_fentry", PLUMB_FENTRY}, {}};
static const struct plumb_attach_target kprobe_multi[] = {
	{"fired_kprobe_multi", PLUMB_KPROBE_MULTI}, {}};
static const struct plumb_attach_target kprobe[] = {{"fired_kprobe", PLUMB_KPROBE}, {}};

#define MECHANISM(name_, stability_, mode_, ...)                                                   \
	{                                                                                          \
		.name = (name_), .stability = (stability_), .open = open_mode, .mode = (mode_),    \
		__VA_ARGS__                                                                        \
	}
#define FUNCTION_MECHANISM(name_, attach_targets_)                                                 \
	MECHANISM(name_, "unstable: kernel functions", FUNCTIONS, .unsupported = no_functions,     \
		  .attach_targets = (attach_targets_))
#define TRACEPOINT_MECHANISMS                                                                      \
	MECHANISM("raw_tracepoint", "stable", RAW, .tracepoints = true, .unsupported = no_raw,     \
		  .skipped = raw_skipped),                                                         \
		MECHANISM("tracepoint", "stable", 0, .tracepoints = true,                          \
			  .unsupported = no_tracepoints)
#define USER_MECHANISM(name_, mode_)                                                               \
	MECHANISM(name_, "as stable as the program", mode_, .unsupported = not_only_users)

/* Cheapest first. */
static const struct plumb_mechanism few[] = {
	FUNCTION_MECHANISM("fentry", fentry),
	FUNCTION_MECHANISM("kprobe.multi", kprobe_multi),
	FUNCTION_MECHANISM("kprobe", kprobe),
	TRACEPOINT_MECHANISMS,
	/* The kernel waits for each perf event that is removed, seconds on a busy program. */
	USER_MECHANISM("uprobe.multi", MULTI),
	USER_MECHANISM("uprobe", SINGLE),
};

const struct plumb_mechanism plumb_trace_targets_mechanisms[PLUMB_TRACE_TARGETS_MECHANISMS] = {
	FUNCTION_MECHANISM("fentry.multi", fentry_multi),
	FUNCTION_MECHANISM("kprobe.multi", kprobe_multi),
	FUNCTION_MECHANISM("fentry", fentry),
	FUNCTION_MECHANISM("kprobe", kprobe),
	TRACEPOINT_MECHANISMS,
	USER_MECHANISM("uprobe.multi", MULTI),
	USER_MECHANISM("uprobe", SINGLE),
};

/*
 * If targets are of several kinds: states the least stability of them, and the kind that was
 * measured.
 */
static void name_mixture(struct plumb_tool *tool)
{
	static struct plumb_mechanism mechanisms[PLUMB_TRACE_TARGETS_MECHANISMS];
	const struct plumb_targets *t = &plumb_trace_targets.targets;

	memcpy(mechanisms, tool->mechanisms.list, tool->mechanisms.n * sizeof(*mechanisms));
	tool->mechanisms.list = mechanisms;
	for (size_t i = 0; i < tool->mechanisms.n; i++)
		if (mechanisms[i].tracepoints)
			mechanisms[i].stability = "stable; user functions as stable as the program";
	tool->overhead.traced = t->functions.n
					? "a kernel function's call (not measured: the others)"
					: "a tracepoint's fire (not measured: user functions)";
}

int plumb_trace_targets_find(struct plumb_tool *tool, struct plumb_options *o)
{
	static const struct plumb_builds_use use = {.purpose = PLUMB_USER_ENTRIES,
						    .attach = attach_file};
	struct plumb_targets *t = &plumb_trace_targets.targets;
	int err = plumb_targets_find(t, plumb_trace_targets.patterns,
				     plumb_trace_targets.n_patterns, o->btf);

	if (!err)
		err = plumb_trace_targets_find_users(o, &use);
	if (!err)
		err = plumb_trace_targets_number_calls();
	if (!err)
		err = plumb_trace_targets_check_allowed();
	if (err)
		return err;
	if (t->n > 1)
		o->by |= PLUMB_BY_TARGET;
	if (t->n <= PLUMB_FEW && !o->mechanism) {
		tool->mechanisms.list = few;
		tool->mechanisms.n = sizeof(few) / sizeof(few[0]);
	}
	if (!!t->functions.n + !!t->tracepoints.n + !!t->n_files > 1)
		name_mixture(tool);
	else if (t->n_files)
		tool->overhead.traced = t->traced;
	plumb_info("%zu targets", t->n);
	return 0;
}

static void (*trigger_of(const struct plumb_mechanism *mechanism, bool is_stepped))(void)
{
	return mechanism->attach_targets ? plumb_self_test_syscall
	       : mechanism->tracepoints  ? plumb_self_test_rename
	       : is_stepped              ? plumb_self_test_call_stepped
					 : plumb_self_test_call;
}

bool plumb_trace_targets_measure(struct plumb_run *run, const struct plumb_mechanism *mechanism,
				 bool is_stepped, struct plumb_interval *added)
{
	return plumb_calibrate_mechanism(run, mechanism, PLUMB_CALIBRATION_TAKES,
					 trigger_of(mechanism, is_stepped), added);
}

void plumb_trace_targets_calibrate(struct plumb_run *run)
{
	const bool is_stepped = !plumb_trace_targets.targets.stepped[false];

	if (!run->overhead.known)
		plumb_calibrate(run, trigger_of(run->instance.mechanism, is_stepped));
}
