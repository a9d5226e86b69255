/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* instance: a tool's BPF object, loaded and attached. */
#include "attach-hint.h"
#include "configure.h"
#include "hook-names.h"
#include <plumb/core/part.h>
#include <plumb/core/privileges.h>
#include <plumb/core/reasons.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/bpf/function/function.h>
#include <plumb/core/cpus.h>
#include <plumb/core/filter.h>
#include <plumb/core/log.h>
#include <plumb/core/stacking.h>
#include <plumb/core/tracepoint.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/kernel/kernel.h>
#include <plumb/kernel/subset.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static struct bpf_map *map(const struct plumb_bpf *bpf, const char *name)
{
	return bpf_object__find_map_by_name(bpf->object, name);
}

/*
 * Whether programs get task storage.  On 7.2 they do not if the CPU has no 16-byte
 * compare-and-exchange, although map and helper exist (the non-blocking allocator seems to need
 * it).  So a loaded program tries to create some.
 */
static bool state_can_be_had(const struct plumb_bpf *bpf)
{
	struct bpf_program *self_test =
		bpf_object__find_program_by_name(bpf->object, "state_self_test");
	__u64 arguments[1] = {};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));

	/*
	 * Before 5.10 it cannot be run; success is assumed.  A tool without states has no such
	 * program.
	 */
	return !self_test || bpf_prog_test_run_opts(bpf_program__fd(self_test), &run) || run.retval;
}

/* Makes all slots free but 0, which is [other]. */
static int fill_slots(const struct plumb_bpf *bpf)
{
	const struct bpf_map *m = map(bpf, "plumb_free_slots");

	for (uint32_t i = 1; i <= bpf_map__max_entries(m); i++)
		if (bpf_map_update_elem(bpf_map__fd(m), NULL, &i, BPF_ANY))
			return -errno;
	return 0;
}

/* What maps hold before programs run. */
static int fill(const struct plumb_run *run, const struct plumb_bpf *bpf)
{
	const struct plumb_tool *tool = run->tool;
	int err = plumb_filter_fill(run, bpf->object);

	if (!err && tool->lifecycle.fill)
		err = tool->lifecycle.fill(bpf->object);
	err = err ?: fill_slots(bpf);
	if (!err && tool->stacking)
		err = tool->stacking->fill(bpf);
	return err;
}

/*
 * Writes WHAT, the error and its probable cause to WHY.  TARGETS are the mechanism's; NULL: none.
 */
static void explain(const struct plumb_attach_target *targets, int err, const char *what, char *why,
		    size_t size)
{
	snprintf(why, size, "%s: %s%s", what, plumb_errno_name(err),
		 plumb_load_hint(err, targets ? targets->hook : PLUMB_HOOK_NONE));
}

/* Whether the tool needs an argument that is not in the registers that a kprobe program sees. */
static bool wants_stack(const struct plumb_instance *in)
{
	const struct function_config *f = in->bpf.function;

	return f && f->takes_args && f->last_arg >= PLUMB_REGISTER_ARGS &&
	       !plumb_hook_is_fentry(in->mechanism->attach_targets->hook);
}

static int load(const struct plumb_run *run, const struct plumb_mechanism *mechanism,
		struct plumb_instance *in, enum plumb_calibration calibration, char *why,
		size_t size)
{
	const struct plumb_tool_syscalls *syscalls = run->tool->options.syscalls;
	int err;

	*in = (struct plumb_instance){
		.mechanism = mechanism,
		.calibrates = calibration,
		.bpf.mode = mechanism->mode,
	};
	if (mechanism->attach_targets && !run->tool->mechanisms.functions->n) {
		explain(mechanism->attach_targets, -ENOENT, "its function", why, size);
		return -ENOENT;
	}
	in->attaching = run->tool->mechanisms.attaching;
	in->functions = calibration ? &run->calibrated : run->tool->mechanisms.functions;
	err = mechanism->open(&in->bpf, calibration);
	if (err) {
		explain(mechanism->attach_targets, err, "open", why, size);
		goto close;
	}
	if (in->bpf.syscalls)
		syscalls->configure(in->bpf.syscalls, syscalls->selection, calibration);
	if (wants_stack(in)) {
		snprintf(why, size, "argument %u is on the stack: only fentry and fsession read it",
			 in->bpf.function->last_arg);
		err = -EOPNOTSUPP;
		goto close;
	}
	err = mechanism->attach_targets
		      ? in->attaching->missing(mechanism->attach_targets->hook, why, size)
		      : 0;
	if (err)
		goto close;
	plumb_configure(run, in);
	if (run->tool->stacking)
		run->tool->stacking->configure(run, &in->bpf, calibration);
	if (mechanism->attach_targets)
		err = plumb_configure_attach_targets(in);
	if (err) {
		explain(mechanism->attach_targets, err, "attach target", why, size);
		goto close;
	}
	plumb_configure_calibration(in->bpf.config, calibration);
	err = run->options.btf ? 0 : plumb_subset_fill(in->bpf.object);
	err = err ?: bpf_object__load_skeleton(in->bpf.skeleton);
	if (!err && in->bpf.config->task_storage && !state_can_be_had(&in->bpf)) {
		plumb_info("no task storage on this CPU: threads are kept in a hash");
		plumb_configure_without_storage();
		plumb_instance_close(in);
		return load(run, mechanism, in, calibration, why, size);
	}
	err = err ?: fill(run, &in->bpf);
	if (!err)
		return 0;
	explain(mechanism->attach_targets, err, "load", why, size);
close:
	plumb_instance_close(in);
	return err;
}

/* The known reason why the function of that name cannot be traced; NULL: none. */
static const char *obstacle_of(const struct plumb_instance *in, const char *name)
{
	const struct plumb_functions *f = in->functions;
	char text[128];

	for (size_t i = 0; f && i < f->n; i++)
		if (!strcmp(in->attaching->name(f, i, text, sizeof(text)), name))
			return in->attaching->obstacle(&f->all[i]);
	return NULL;
}

/*
 * The error of a function that must be attached: of a few each one, and always those named by the
 * user.  With another mechanism it may succeed.
 */
static int refusal_of_wanted(const struct plumb_instance *in, char *what, size_t size)
{
	const struct plumb_functions *f = in->functions;
	int err = 0;

	for (size_t i = 0; i < f->n && !err; i++)
		if (f->n <= PLUMB_FEW || f->all[i].named) {
			err = plumb_probe_refusal(&in->probes, i);
			in->attaching->name(f, i, what, size);
		}
	return err;
}

/*
 * Whether a program for many functions lacks their addresses, which read as 0 if they are hidden.
 */
static bool lacks_addresses(const struct plumb_instance *in)
{
	const struct plumb_attach_target *targets = in->mechanism->attach_targets;

	return targets && plumb_hook_is_multi(targets->hook) &&
	       !plumb_hook_is_fentry(targets->hook) && in->functions->n &&
	       !in->functions->all[0].address;
}

static void explain_attach(const struct plumb_instance *in, int err, const char *what, char *why,
			   size_t size)
{
	const struct plumb_attach_target *targets = in->mechanism->attach_targets;
	const char *obstacle = obstacle_of(in, what);

	if (obstacle)
		snprintf(why, size, "%s: %s, it %s", what, plumb_errno_name(err), obstacle);
	else
		snprintf(why, size, "%s: %s%s", what, plumb_errno_name(err),
			 lacks_addresses(in) ? ", its address is hidden without CAP_SYSLOG "
					       "(kernel.kptr_restrict)"
					     : plumb_attach_hint(err, targets ? targets->hook
									      : PLUMB_HOOK_NONE));
}

static void close_probes(struct plumb_instance *in)
{
	if (in->probes.by)
		in->probes.by->close(&in->probes);
}

static int attach_probes(struct plumb_instance *in, char *why, size_t size)
{
	char what[128] = "";
	const struct plumb_attach_target *targets = in->mechanism->attach_targets;
	int err = 0;

	in->probes.object = in->bpf.object;
	if (targets)
		err = in->attaching->attach(&in->probes, in->bpf.object, targets, in->functions,
					    what, sizeof(what));
	if (!err && targets)
		err = refusal_of_wanted(in, what, sizeof(what));
	if (!err)
		plumb_name_hooks(in);
	if (!err && in->bpf.attach)
		err = in->bpf.attach(&in->bpf, &in->probes, what, sizeof(what));
	if (err) {
		explain_attach(in, err, what, why, size);
		plumb_instance_detach(in);
		close_probes(in);
	}
	return err;
}

/* Whether there are programs whose misses some kernels do not count (collect.c). */
static bool has_kprobes(const struct plumb_instance *in)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, in->bpf.object) {
		if (bpf_program__autoload(p) && (bpf_program__type(p) == BPF_PROG_TYPE_KPROBE ||
						 bpf_program__type(p) == BPF_PROG_TYPE_TRACEPOINT))
			return true;
	}
	return false;
}

static int attach_program(struct plumb_instance *in, const struct bpf_program *p, char *why,
			  size_t size)
{
	const bool is_tracepoint = bpf_program__type(p) == BPF_PROG_TYPE_TRACEPOINT;
	int err;

	if (in->without == p)
		return 0;
	in->links[in->n_links] =
		is_tracepoint ? plumb_probe_attach_tracepoint(p) : plumb_probe_attach_section(p);
	if (in->links[in->n_links]) {
		in->n_links++;
		return 0;
	}
	err = -errno;
	if (plumb_configure_without(in, p, err))
		return 0;
	snprintf(why, size, "%s: %s%s", bpf_program__name(p), plumb_errno_name(err),
		 plumb_attach_hint(err, is_tracepoint ? PLUMB_TRACEPOINT : PLUMB_HOOK_NONE));
	plumb_instance_detach(in);
	return err;
}

/* Asked before anything is attached; what the tool attaches by itself is asked for there. */
static int check_allowed(struct plumb_instance *in, char *why, size_t size)
{
	const char *const *programs = in->mechanism->programs;
	char what[256];
	int err = 0;

	for (size_t i = 0; i < in->n_threads && !err; i++) {
		err = plumb_parts_allow(in->threads[i], what, sizeof(what));
		if (err && plumb_configure_without(in, in->threads[i], err))
			err = 0;
	}
	for (; programs && *programs && !err; programs++)
		err = plumb_parts_allow(bpf_object__find_program_by_name(in->bpf.object, *programs),
					what, sizeof(what));
	if (!err && in->mechanism->attach_targets)
		err = in->attaching->allowed(in->functions, what, sizeof(what));
	if (err)
		snprintf(why, size, "%s: %s%s", what, plumb_errno_name(err), plumb_errno_hint(err));
	return err;
}

int plumb_instance_attach(struct plumb_instance *in, char *why, size_t size)
{
	const char *const *programs = in->mechanism->programs;
	struct bpf_program *p;
	int err = check_allowed(in, why, size);

	for (size_t i = 0; i < in->n_threads && !err; i++)
		err = attach_program(in, in->threads[i], why, size);
	for (; programs && *programs && !err; programs++) {
		p = bpf_object__find_program_by_name(in->bpf.object, *programs);
		/* The mechanism's open() may have disabled some of its programs. */
		if (bpf_program__autoload(p))
			err = attach_program(in, p, why, size);
	}
	if (err)
		return err;
	in->kprobe_misses = has_kprobes(in) && plumb_kprobe_misses_are_counted();
	return attach_probes(in, why, size);
}

/* In reverse order of attaching, so that calls in flight still find their exit program. */
void plumb_instance_detach(struct plumb_instance *in)
{
	if (in->bpf.live)
		*in->bpf.live = 0;
	if (in->probes.by)
		in->probes.by->detach(&in->probes);
	while (in->n_links)
		bpf_link__destroy(in->links[--in->n_links]);
}

void plumb_instance_close(struct plumb_instance *in)
{
	plumb_instance_detach(in);
	close_probes(in);
	if (in->bpf.skeleton)
		bpf_object__destroy_skeleton(in->bpf.skeleton);
	free(in->bpf.owner);
	in->bpf = (struct plumb_bpf){};
}

int plumb_instance_load_calibration(const struct plumb_run *run, struct plumb_instance *calibration,
				    enum plumb_calibration kind)
{
	struct plumb_run one_key = *run;
	int err, cgroup = -1;
	char why[192];

	one_key.options.max_keys = 1;
	one_key.options.n_cgroups = 0;
	if (kind == PLUMB_CALIBRATION_TAKES) {
		one_key.child = run->child || run->options.follow ? getpid() : 0;
		/* The root cgroup contains this thread, too. */
		cgroup = run->options.n_cgroups ? plumb_cgroup_open("/") : -1;
		if (cgroup >= 0)
			one_key.cgroups[one_key.options.n_cgroups++] = cgroup;
	}
	err = load(&one_key, run->instance.mechanism, calibration, kind, why, sizeof(why));
	if (cgroup >= 0)
		close(cgroup);
	calibration->functions = &run->calibrated;
	return err;
}

int plumb_instance_load(struct plumb_run *run, const struct plumb_mechanism *mechanism, char *why,
			size_t size)
{
	int err;

	plumb_cpus_forget();
	err = load(run, mechanism, &run->instance, PLUMB_NO_CALIBRATION, why, size);
	if (!err)
		plumb_cpus_use(run->instance.bpf.cpus_left);
	if (!err)
		plumb_cgroup_use_gone(bpf_object__find_map_fd_by_name(run->instance.bpf.object,
								      "plumb_cgroups_gone"));
	return err;
}
