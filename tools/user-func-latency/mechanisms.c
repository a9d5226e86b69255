/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "user-func.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/bpf/user/by-id.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/run.h>
#include <plumb/cost/calibrate.h>
#include <plumb/functions/probe.h>
#include <plumb/functions/timed-functions.h>
#include <plumb/user/builds.h>
#include <plumb/user/probe-userfuncs.h>
#include <plumb/user/self-test.h>

#include <bpf/libbpf.h>

#include "user-func-latency-go.skel.h"
#include "user-func-latency-session-610.skel.h"
#include "user-func-latency-session-700.skel.h"
#include "user-func-latency.skel.h"

/*
 * Threads in a call at once that are kept in a hash, where there is no task storage.  The hash is
 * allocated at once, and a state has 3 kB.
 */
#define MAX_HASHED 4096

struct user_func user_func = {.arg.position = PLUMB_NO_ARG};

/* By mode: the programs for the end of a call first, as they are attached. */
enum { SESSION, MULTI, SINGLE, MULTI_RETURNS, RETURNS };

static const struct plumb_attach_target hooks[][3] = {
	[SESSION] = {{"user_session", PLUMB_UPROBE_SESSION}, {}},
	[MULTI] = {{"user_leave", PLUMB_URETPROBE_MULTI}, {"user_enter", PLUMB_UPROBE_MULTI}, {}},
	[SINGLE] = {{"user_leave", PLUMB_URETPROBE}, {"user_enter", PLUMB_UPROBE}, {}},
	[MULTI_RETURNS] = {{"user_return", PLUMB_UPROBE_MULTI_RETURNS},
			   {"user_enter", PLUMB_UPROBE_MULTI},
			   {}},
	[RETURNS] = {{"user_return", PLUMB_UPROBE_RETURNS}, {"user_enter", PLUMB_UPROBE}, {}},
};

/* Where a goroutine ends. */
static const struct plumb_attach_target go_ends[] = {
	[MULTI_RETURNS] = {"goroutine_end", PLUMB_UPROBE_MULTI},
	[RETURNS] = {"goroutine_end", PLUMB_UPROBE},
};

bool user_func_has_sessions(const struct plumb_bpf *bpf)
{
	return bpf->mode == SESSION;
}

int user_func_attach(const struct plumb_bpf *bpf, struct plumb_probes *probes,
		     const struct plumb_userfuncs *functions, size_t first, size_t build,
		     char *what, size_t size)
{
	int err = 0;

	probes->with_cookies = bpf->function->with_cookies;
	for (const struct plumb_attach_target *a = hooks[bpf->mode]; a->hook && !err; a++)
		err = plumb_probe_userfuncs(probes, bpf->object, a, functions, first, build, what,
					    size);
	return err;
}

int user_func_attach_go_end(const struct plumb_bpf *bpf, struct plumb_probes *probes, int fd,
			    const struct plumb_userfuncs *functions, char *what, size_t size)
{
	struct plumb_userfuncs found, opened;
	int err = plumb_userfuncs_find_in(fd, functions->shown, "runtime.goexit1", false, &found);

	if (err)
		return err;
	opened = found;
	opened.path = functions->path;
	opened.shown = functions->shown;
	err = plumb_probe_userfuncs(probes, bpf->object, &go_ends[bpf->mode], &opened, 0, 0, what,
				    size);
	plumb_userfuncs_free(&found);
	return err;
}

static void (*self_test)(void); /* what the calibration calls */

static int attach_self_test(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			    size_t size)
{
	struct plumb_userfuncs u;
	int err = plumb_self_test_find_userfunc(self_test, &u);

	if (err)
		return err;
	err = user_func_attach(bpf, probes, &u, 0, 0, what, size);
	plumb_userfuncs_free(&u);
	return err;
}

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
	struct bpf_map *hashed = bpf_object__find_map_by_name(bpf->object, "plumb_threads_by_task");

	*arg = user_func.arg;
	bpf->config->off_cpu = user_func.on_cpu || user_func.options->split;
	/* A thread can be preempted in a program by another that runs it. */
	bpf->config->interleaved = true;
	bpf->function->frames = 1;
	bpf->function->min_ns = calibration ? 0 : user_func.min_ns;
	bpf->function->only_errors = !calibration && user_func.only_errors;
	bpf->function->result_bits = user_func.errors ? 64 : 0;
	bpf->function->takes_args = arg->position != PLUMB_NO_ARG;
	bpf->function->with_cookies = plumb_probes_have_cookies();
	bpf->function->since = plumb_now();
	bpf_map__set_max_entries(hashed, MAX_HASHED);
	bpf->states = user_func.go ? PLUMB_STATES_BY_ID : NULL;
}

PLUMB_FUNCTION_OPENS(user_func_latency, plumb_arg, configure)
PLUMB_FUNCTION_OPEN(open_go, user_func_latency_go_bpf, plumb_arg, configure)

static int prepare(const struct plumb_bpf *bpf, const struct plumb_attach_target *a)
{
	return plumb_probe_prepare(bpf_object__find_program_by_name(bpf->object, a->program),
				   a->hook, NULL);
}

static int open_mode(struct plumb_bpf *bpf, bool calibration)
{
	static const char *programs[4]; /* of all instances in this mode */
	const int mode = bpf->mode;
	size_t n = 0;
	int err = mode == SESSION && !plumb_has_user_sessions() ? -EOPNOTSUPP
		  : mode == SESSION                             ? open_session(bpf, calibration)
		  : user_func.go                                ? open_go(bpf, calibration)
								: open_plain(bpf, calibration);

	if (err)
		return err;
	bpf->mode = mode;
	bpf->copied = programs;
	bpf->function->with_cookies |= mode == MULTI || mode == MULTI_RETURNS;
	bpf->attach = calibration ? attach_self_test : plumb_builds_attach;
	name_hooks(bpf);
	for (const struct plumb_attach_target *a = hooks[mode]; a->hook && !err; a++) {
		programs[n++] = a->program;
		err = prepare(bpf, a);
	}
	if (!err && user_func.go) {
		programs[n++] = go_ends[mode].program;
		err = prepare(bpf, &go_ends[mode]);
	}
	programs[n] = NULL;
	return err;
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
	const bool is_stepped = !plumb_targets_stepped(&user_func.targets, false);
	uint64_t other = 0;
	struct plumb_interval added;

	self_test = is_stepped ? plumb_self_test_call : plumb_self_test_call_stepped;
	if (plumb_calibrate_mechanism(run, run->instance.mechanism, PLUMB_CALIBRATION_TAKES,
				      self_test, &added))
		other = plumb_calibrated_latency();
	self_test = is_stepped ? plumb_self_test_call_stepped : plumb_self_test_call;
	if (!plumb_calibrate(run, self_test))
		return;
	run->overhead.empty = is_stepped ? other : plumb_calibrated_latency();
	run->overhead.empty_stepped = is_stepped ? plumb_calibrated_latency() : other;
}
