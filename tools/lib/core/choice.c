/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * choice of mechanism, by trying each.  A mechanism is chosen if its object opens, loads and
 * attaches on this kernel, in this configuration.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/attaching.h>
#include <plumb/core/cgroups.h>
#include <plumb/core/choice.h>
#include <plumb/core/clock.h>
#include <plumb/core/instance.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/kernel/kernel.h>
#include <plumb/kernel/preemption.h>

static int attach(struct plumb_run *run, char *why, size_t size)
{
	int err;

	plumb_parts_loaded(run);
	if (run->tool->overhead.calibrate && run->options.calibrate)
		run->tool->overhead.calibrate(run);
	err = plumb_instance_attach(&run->instance, why, size);
	if (err) {
		plumb_instance_close(&run->instance);
		return err;
	}
	plumb_cgroups_look(run);
	/*
	 * Before, calls are counted whose programs were attached early.  Many programs take seconds
	 * to attach, which would make rates too low.
	 */
	clock_gettime(CLOCK_REALTIME, &run->counting.time);
	run->counting.clock = plumb_now();
	*run->instance.bpf.live = !run->tool->lifecycle.reports_first;
	plumb_parts_attached(run);
	return 0;
}

static bool is_fentry(const struct plumb_mechanism *mechanism)
{
	return mechanism->preemptible == PLUMB_AS_FENTRY ||
	       (mechanism->attach_targets && plumb_hook_is_fentry(mechanism->attach_targets->hook));
}

/* Why the mechanism is skipped in favour of a later one, "": without a message; NULL: it is not. */
static const char *skipped(const struct plumb_run *run, const struct plumb_mechanism *mechanism)
{
	if (mechanism->skipped)
		return mechanism->skipped();
	if (mechanism->preemptible == PLUMB_AS_TRACEPOINTS)
		return plumb_raw_tracepoints_can_be_preempted() ? NULL : "";
	if (is_fentry(mechanism) && plumb_kernel_is_preemptible())
		return "its programs can be preempted here, and calls are missed meanwhile";
	return mechanism->attach_targets && run->tool->mechanisms.functions
		       ? run->tool->mechanisms.attaching->skipped(
				 mechanism->attach_targets, run->tool->mechanisms.functions->n)
		       : NULL;
}

static void refuse(struct plumb_run *run, const struct plumb_mechanism *mechanism, int err,
		   const char *why)
{
	struct plumb_refusal *no = &run->refused[run->n_refused++];

	no->name = mechanism->name;
	no->err = err;
	snprintf(no->why, sizeof(no->why), "%s", why);
}

/* Removes the mechanism from those refused, since it is tried after all. */
static void forget_refusal(struct plumb_run *run, const struct plumb_mechanism *mechanism)
{
	size_t n = 0;

	for (size_t i = 0; i < run->n_refused; i++)
		if (run->refused[i].name != mechanism->name)
			run->refused[n++] = run->refused[i];
	run->n_refused = n;
}

/*
 * Whether to try the mechanism.  One that is skipped with a message is listed as refused.  With
 * LAST, when all others have failed, only those skipped ones are tried, and those that do not
 * support the options are listed, too.
 */
static bool is_worth_trying(struct plumb_run *run, const struct plumb_mechanism *mechanism,
			    bool last)
{
	const char *unsupported, *why;

	if (run->options.mechanism)
		return !last && !strcmp(run->options.mechanism, mechanism->name);
	unsupported = mechanism->unsupported ? mechanism->unsupported(&run->options) : NULL;
	why = unsupported ? NULL : skipped(run, mechanism);
	if (last) {
		if (unsupported)
			refuse(run, mechanism, 0, unsupported);
		if (!why || !*why)
			return false;
		forget_refusal(run, mechanism);
		return true;
	}
	if (unsupported)
		plumb_info("%s not tried: %s", mechanism->name, unsupported);
	if (why && *why)
		refuse(run, mechanism, 0, why);
	return !unsupported && !why;
}

static int choose(struct plumb_run *run, bool last)
{
	const struct plumb_mechanism *mechanism;
	char why[sizeof(run->refused[0].why)];
	int err = -ENOENT;

	for (size_t i = 0; i < run->tool->mechanisms.n; i++) {
		mechanism = &run->tool->mechanisms.list[i];
		if (!is_worth_trying(run, mechanism, last))
			continue;
		run->instance = (struct plumb_instance){.mechanism = mechanism};
		plumb_parts_try(run);
		err = plumb_instance_load(run, mechanism, why, sizeof(why));
		if (!err)
			err = attach(run, why, sizeof(why));
		if (!err)
			return 0;
		refuse(run, mechanism, err, why);
		plumb_info("%s refused: %s", mechanism->name, why);
	}
	return err;
}

int plumb_mechanism_choose(struct plumb_run *run)
{
	int err = choose(run, false);

	return err ? choose(run, true) : 0;
}
