/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/kernel.h>
#include <plumb/probe.h>
#include <plumb/trial.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "func-count.h"
#include "survey.h"

#include "func-count.skel.h"

/* How a rung gets to tracepoints and user functions. */
enum {
	TWIN = 1,
	RAW = 2,        /* raw tracepoints where there are */
	MULTI = 4,      /* one program for all functions of a file */
	SINGLE = 8,     /* a copy for each */
	FUNCTIONS = 16, /* kernel functions beside them */
};

static int attach_file(const struct plumb_bpf *bpf, struct plumb_probes *probes,
		       const struct plumb_userfuncs *u, size_t first, char *what, size_t size)
{
	static const struct plumb_aim single = {"count_uprobe", PLUMB_UPROBE};
	static const struct plumb_aim multi = {"count_uprobe_multi", PLUMB_UPROBE_MULTI};
	bool at_once = bpf->way & MULTI || (u->n > PLUMB_FEW && !(bpf->way & SINGLE));
	size_t refused = probes->refused;
	int err = -ENOENT;

	if (at_once)
		err = plumb_probe_userfuncs(probes, bpf->object, &multi, u, first, what, size);
	if (!err || bpf->way & MULTI)
		return err;
	probes->refused = refused;
	return plumb_probe_userfuncs(probes, bpf->object, &single, u, first, what, size);
}

static int attach_tracepoints(const struct plumb_bpf *bpf, struct plumb_probes *probes,
			      const struct plumb_tracepoints *t, size_t first, char *what,
			      size_t size)
{
	return plumb_probe_tracepoints(probes, bpf->object, bpf->way & RAW ? "count_raw" : NULL,
				       "count_tracepoint", t, first, what, size);
}

static int attach_points(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			 size_t size)
{
	int err = attach_tracepoints(bpf, probes, &survey.targets.tracepoints,
				     survey.targets.functions.n, what, size);

	for (size_t i = 0; !err && i < survey.targets.n_files; i++)
		err = attach_file(bpf, probes, &survey.targets.files[i],
				  targets_first_of(&survey.targets, i), what, size);
	return err;
}

/* What a twin counts. */
static int attach_trial(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			size_t size)
{
	struct plumb_tracepoints t;
	struct plumb_userfuncs u;
	int err;

	if (!(bpf->way & (MULTI | SINGLE))) {
		err = plumb_trial_find_tracepoint(&t);
		if (err)
			return err;
		err = attach_tracepoints(bpf, probes, &t, 0, what, size);
		plumb_tracepoints_free(&t);
		return err;
	}
	err = plumb_trial_find_userfunc(&u);
	if (err)
		return err;
	err = attach_file(bpf, probes, &u, 0, what, size);
	plumb_userfuncs_free(&u);
	return err;
}

/* Are there many functions in a file, on a kernel that might attach to them at once? */
static bool are_many(void)
{
	bool many = false;

	for (size_t i = 0; i < survey.targets.n_files; i++)
		many |= survey.targets.files[i].n > PLUMB_FEW;
	return many &&
	       libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, NULL) == 1;
}

/* The programs that those take. */
static const char *const *list_programs(int way)
{
	static const char *names[5];
	bool tracepoints = survey.targets.tracepoints.n, users = survey.targets.n_files;
	size_t n = 0;

	if (way & TWIN && way & FUNCTIONS)
		tracepoints = users = false;
	else if (way & TWIN && way & (MULTI | SINGLE))
		tracepoints = false;
	else if (way & TWIN)
		users = false;
	if (tracepoints && way & RAW)
		names[n++] = "count_raw";
	if (tracepoints)
		names[n++] = "count_tracepoint";
	if (users && !(way & MULTI))
		names[n++] = "count_uprobe";
	if (users && (way & MULTI || (!(way & SINGLE) && are_many())))
		names[n++] = "count_uprobe_multi";
	names[n] = NULL;
	return names;
}

/* As they were typed; what is not attached to by the rung's own mechanism says by which. */
static void name_hooks(struct plumb_bpf *bpf)
{
	const size_t room = sizeof(bpf->hooks[0]);
	const char *by;
	size_t i;

	for (i = 0; i < survey.n_patterns && i < PLUMB_MAX_HOOKS - 1; i++) {
		enum target_kind kind = target_kind(survey.patterns[i]);

		by = "";
		if (kind == TARGET_TRACEPOINT && bpf->way & FUNCTIONS)
			by = bpf->way & RAW ? " (raw tracepoint)" : " (tracepoint)";
		else if (kind == TARGET_USER && !(bpf->way & (MULTI | SINGLE)))
			by = " (uprobe)";
		snprintf(bpf->hooks[i], room, "%.40s%s", survey.patterns[i], by);
	}
	if (i < survey.n_patterns)
		snprintf(bpf->hooks[i - 1], room, "and %zu more", survey.n_patterns - i + 1);
}

static int open_way(struct plumb_bpf *bpf, bool twin, int way)
{
	struct func_count_bpf *skel = func_count_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "");
	bpf->way = way | (twin ? TWIN : 0);
	bpf->copied = list_programs(bpf->way);
	if (!twin)
		bpf->attach = attach_points;
	else if (!(way & FUNCTIONS))
		bpf->attach = attach_trial;
	name_hooks(bpf);
	skel->rodata->func_count_single = twin || survey.targets.n == 1;
	bpf->own_slots = survey.options->by == FUNC_COUNT_BY_FUNC &&
			 survey.targets.n <= survey.options->max_keys;
	bpf->config->interleaved =
		!bpf->own_slots &&
		survey.targets.functions.n < survey.targets.n; /* several programs */
	return plumb_probe_prepare(skel->progs.count_uprobe_multi, PLUMB_UPROBE_MULTI, NULL);
}

static bool prefers_raw(void)
{
	return !plumb_raw_tracepoints_can_be_preempted();
}

static int open_functions(struct plumb_bpf *bpf, bool twin)
{
	return open_way(bpf, twin, FUNCTIONS | (prefers_raw() ? RAW : 0));
}

static int open_raw(struct plumb_bpf *bpf, bool twin)
{
	return open_way(bpf, twin, RAW);
}

static int open_tracepoint(struct plumb_bpf *bpf, bool twin)
{
	return open_way(bpf, twin, 0);
}

static int open_uprobe(struct plumb_bpf *bpf, bool twin)
{
	return open_way(bpf, twin, SINGLE);
}

static int open_uprobe_multi(struct plumb_bpf *bpf, bool twin)
{
	return open_way(bpf, twin, MULTI);
}

static const char *no_functions(const struct plumb_options *o)
{
	(void)o;
	return survey_asks_for(TARGET_FUNCTION) ? NULL : "no target is a kernel function";
}

static const char *no_tracepoints(const struct plumb_options *o)
{
	(void)o;
	if (survey_asks_for(TARGET_FUNCTION))
		return "some targets are kernel functions";
	return survey_asks_for(TARGET_TRACEPOINT) ? NULL : "no target is a tracepoint";
}

static const char *not_only_users(const struct plumb_options *o)
{
	(void)o;
	return survey_asks_for(TARGET_FUNCTION) || survey_asks_for(TARGET_TRACEPOINT)
		       ? "some targets are no user functions"
		       : NULL;
}

static const char *raw_outdone(void)
{
	return prefers_raw() ? NULL
			     : "its programs can be preempted here, and fires missed meanwhile";
}

static const char *const programs[] = {"thread_exit", "thread_fork", NULL};

static const struct plumb_aim fentry_multi[] = {{"count_fentry_multi", PLUMB_FENTRY_MULTI}, {}};
static const struct plumb_aim fentry[] = {{"count_fentry", PLUMB_FENTRY}, {}};
static const struct plumb_aim kprobe_multi[] = {{"count_kprobe_multi", PLUMB_KPROBE_MULTI}, {}};
static const struct plumb_aim kprobe[] = {{"count_kprobe", PLUMB_KPROBE}, {}};

#define RUNG(name_, stability_, open_, ...)                                                        \
	{                                                                                          \
		.name = (name_), .stability = (stability_), .open = (open_), .programs = programs, \
		__VA_ARGS__                                                                        \
	}
#define FUNCTION_RUNG(name_, aims_)                                                                \
	RUNG(name_, "unstable: kernel functions", open_functions, .unfit = no_functions,           \
	     .aims = (aims_))
#define TRACEPOINT_RUNGS                                                                           \
	RUNG("raw_tracepoint", "stable", open_raw, .unfit = no_tracepoints,                        \
	     .outdone = raw_outdone),                                                              \
		RUNG("tracepoint", "stable", open_tracepoint, .unfit = no_tracepoints)
#define USER_RUNG(name_, open_)                                                                    \
	RUNG(name_, "as stable as the program", open_, .unfit = not_only_users)

/* Cheapest first. */
const struct plumb_rung survey_few[] = {
	FUNCTION_RUNG("fentry", fentry),  FUNCTION_RUNG("kprobe.multi", kprobe_multi),
	FUNCTION_RUNG("kprobe", kprobe),  TRACEPOINT_RUNGS,
	USER_RUNG("uprobe", open_uprobe),
};
const size_t survey_n_few = sizeof(survey_few) / sizeof(survey_few[0]);

/* What attaches to many at once. */
const struct plumb_rung survey_many[] = {
	FUNCTION_RUNG("fentry.multi", fentry_multi),
	FUNCTION_RUNG("kprobe.multi", kprobe_multi),
	FUNCTION_RUNG("fentry", fentry),
	FUNCTION_RUNG("kprobe", kprobe),
	TRACEPOINT_RUNGS,
	USER_RUNG("uprobe.multi", open_uprobe_multi),
	USER_RUNG("uprobe", open_uprobe),
};
const size_t survey_n_many = sizeof(survey_many) / sizeof(survey_many[0]);

const struct plumb_rung *survey_rung_of(const struct cost *c)
{
	for (size_t i = 0; i < survey_n_many; i++)
		if (!strcmp(survey_many[i].name, c->name))
			return &survey_many[i];
	return NULL;
}
