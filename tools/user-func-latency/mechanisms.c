/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "user-func.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/bpf/user/by-id.h>
#include <plumb/core/log.h>
#include <plumb/core/run.h>
#include <plumb/cost/calibrate.h>
#include <plumb/functions/probe.h>
#include <plumb/functions/timed-functions.h>
#include <plumb/user/probe-userfuncs.h>

#include <bpf/libbpf.h>

#include "user-func-latency-go.skel.h"
#include "user-func-latency-session-610.skel.h"
#include "user-func-latency-session-700.skel.h"
#include "user-func-latency.skel.h"

/* By mode: the programs for the end of a call first, as they are attached. */
enum { SESSION, MULTI, SINGLE, MULTI_RETURNS, RETURNS };

static const struct plumb_attach_target hooks[][4] = {
	[SESSION] = {{"user_session", PLUMB_UPROBE_SESSION}, {}},
	[MULTI] = {{"user_leave", PLUMB_URETPROBE_MULTI}, {"user_enter", PLUMB_UPROBE_MULTI}, {}},
	[SINGLE] = {{"user_leave", PLUMB_URETPROBE}, {"user_enter", PLUMB_UPROBE}, {}},
	/* The first of these is only for Go programs: where a goroutine ends. */
	[MULTI_RETURNS] = {{"goroutine_end", PLUMB_UPROBE_MULTI},
			   {"user_return", PLUMB_UPROBE_MULTI_RETURNS},
			   {"user_enter", PLUMB_UPROBE_MULTI},
			   {}},
	[RETURNS] = {{"goroutine_end", PLUMB_UPROBE},
		     {"user_return", PLUMB_UPROBE_RETURNS},
		     {"user_enter", PLUMB_UPROBE},
		     {}},
};

static const struct plumb_attach_target *hooks_on_functions(int mode)
{
	return hooks[mode] + (mode >= MULTI_RETURNS);
}

static bool has_sessions(const struct plumb_bpf *bpf)
{
	return bpf->mode == SESSION;
}

static int attach(const struct plumb_bpf *bpf, struct plumb_probes *probes,
		  const struct plumb_userfuncs *functions, size_t first,
		  const struct plumb_build *build, char *what, size_t size)
{
	int err = 0;

	for (const struct plumb_attach_target *a = hooks_on_functions(bpf->mode); a->hook && !err;
	     a++)
		err = plumb_probe_userfuncs(probes, bpf->object, a, functions, first, build->number,
					    what, size);
	return err;
}

/* Calls that a goroutine is inside when it ends do not return. */
static int attach_go_end(const struct plumb_bpf *bpf, struct plumb_probes *probes,
			 const struct plumb_userfuncs *also, char *what, size_t size)
{
	return plumb_probe_userfuncs(probes, bpf->object, hooks[bpf->mode], also, 0, 0, what, size);
}

struct user_func user_func = {
	.arg.position = PLUMB_NO_ARG,
	.use.purpose = PLUMB_USER_CALLS,
	.use.opened = user_targets_look,
	.use.check = user_targets_check,
	.use.attach = attach,
	.use.attach_also = attach_go_end,
	.use.is_by_process = has_sessions,
};

static void name_hooks(struct plumb_bpf *bpf)
{
	const struct plumb_targets *t = &user_func.targets;
	const size_t most = PLUMB_MAX_HOOKS - 2;
	char name[512];

	for (size_t i = 0; i < t->n && i < most; i++)
		snprintf(bpf->hooks[i], sizeof(bpf->hooks[i]), "%s",
			 plumb_targets_name(t, i, false, name, sizeof(name)));
	if (t->n > most)
		snprintf(bpf->hooks[most], sizeof(bpf->hooks[most]), "and %zu more", t->n - most);
}

static void configure(struct plumb_bpf *bpf, struct plumb_arg *arg, bool calibration)
{
	*arg = user_func.arg;
	bpf->config->off_cpu = user_func.on_cpu || user_func.options->split;
	bpf->function->min_ns = calibration ? 0 : user_func.min_ns;
	bpf->function->only_errors = !calibration && user_func.only_errors;
	bpf->function->result_bits = user_func.errors ? 64 : 0;
	bpf->function->takes_args = arg->position != PLUMB_NO_ARG;
	bpf->states = user_func.go ? PLUMB_STATES_BY_ID : NULL;
}

PLUMB_FUNCTION_OPENS(user_func_latency, plumb_arg, configure)
PLUMB_FUNCTION_OPEN(open_go, user_func_latency_go_bpf, plumb_arg, configure)

static int open_mode(struct plumb_bpf *bpf, bool calibration)
{
	const int mode = bpf->mode;
	int err = mode == SESSION ? open_session(bpf, calibration)
		  : user_func.go  ? open_go(bpf, calibration)
				  : open_plain(bpf, calibration);

	if (err)
		return err;
	bpf->mode = mode;
	name_hooks(bpf);
	return plumb_builds_configure(bpf, user_func.go ? hooks[mode] : hooks_on_functions(mode),
				      calibration);
}

static const char *return_probes_skipped(void)
{
	return user_func.fragile;
}

static const char *return_probes_unsupported(const struct plumb_options *options)
{
	return user_func.go ? USER_FUNC_GO_STACKS_MOVE : user_func.broken;
}

static const char *returns_skipped(void)
{
	return user_func.fragile || user_func.go ? NULL : "";
}

#define MECHANISM(mode_, name_, ...)                                                               \
	[mode_] = {.name = (name_),                                                                \
		   .stability = "as stable as the program",                                        \
		   .open = open_mode,                                                              \
		   .mode = (mode_),                                                                \
		   __VA_ARGS__}
#define AT_RETURN_PROBES .skipped = return_probes_skipped, .unsupported = return_probes_unsupported

const struct plumb_mechanism user_func_mechanisms[USER_FUNC_MECHANISMS] = {
	MECHANISM(SESSION, "uprobe.session", AT_RETURN_PROBES),
	MECHANISM(MULTI, "uprobe.multi", AT_RETURN_PROBES),
	MECHANISM(SINGLE, "uprobe", AT_RETURN_PROBES),
	MECHANISM(MULTI_RETURNS, "uprobe.multi.returns", .skipped = returns_skipped),
	MECHANISM(RETURNS, "uprobe.returns", .skipped = returns_skipped),
};

bool user_func_is_at_returns(const char *mechanism)
{
	for (int mode = MULTI_RETURNS; mode <= RETURNS; mode++)
		if (!strcmp(mechanism, user_func_mechanisms[mode].name))
			return true;
	return false;
}

void user_func_calibrate(struct plumb_run *run)
{
	plumb_calibrate_userfuncs(run, !user_func.targets.stepped[false]);
}
