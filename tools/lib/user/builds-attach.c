/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* builds: the programs of a mechanism, and how they are attached. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <plumb/bpf/user/by-id.h>
#include <plumb/core/clock.h>
#include <plumb/core/memory.h>
#include <plumb/guard/policy.h>
#include <plumb/kernel/kernel.h>
#include <plumb/user/builds.h>
#include <plumb/user/probe-userfuncs.h>
#include <plumb/user/self-test.h>

#include <bpf/libbpf.h>

#include "builds-file.h"

/*
 * The kernel shows the path by which a perf event was attached as it is (bpftool link): it is the
 * file's own, where that leads to this file at the moment, unless what is attached to must be the
 * file that a policy allowed, whatever the path leads to by then.
 */
void plumb_build_set_path(struct plumb_build *b)
{
	const char *own = plumb_traced.targets->files[b->file].path;
	struct stat st;

	free(b->functions.path);
	b->functions.shown = own;
	if (!plumb_policy_has_files() && !stat(own, &st) && plumb_build_is_of(b, &st))
		b->functions.path = plumb_copied(own);
	else
		b->functions.path = plumb_text("/proc/self/fd/%d", b->fd);
}

/* One by one, since some are absent, or all at once. */
static int attach_functions(const struct plumb_build *b, char *what, size_t size)
{
	const struct plumb_traced *t = &plumb_traced;
	const size_t first = plumb_targets_first_of(t->targets, b->file);
	bool whole = true;
	int err = -ENOENT, one;

	for (size_t i = 0; i < b->functions.n; i++)
		whole &= b->functions.list[i].name != NULL;
	if (whole)
		return t->use->attach(t->bpf, t->probes, &b->functions, first, b, what, size);
	for (size_t i = 0; i < b->functions.n; i++) {
		struct plumb_userfuncs alone = {
			.path = b->functions.path,
			.shown = b->functions.shown,
			.list = &b->functions.list[i],
			.n = 1,
			.is_usdt = b->functions.is_usdt,
		};

		if (!alone.list->name)
			continue;
		one = t->use->attach(t->bpf, t->probes, &alone, first + i, b, what, size);
		err = err ? one : 0;
	}
	return err;
}

static int attach_also(const struct plumb_build *b, char *what, size_t size)
{
	const struct plumb_builds_use *use = plumb_traced.use;
	struct plumb_userfuncs found, opened;
	int err = plumb_userfuncs_find_in(b->fd, b->functions.shown, use->also, false, &found);

	if (err)
		return err;
	opened = found;
	opened.path = b->functions.path;
	opened.shown = b->functions.shown;
	err = use->attach_also(plumb_traced.bpf, plumb_traced.probes, &opened, what, size);
	plumb_userfuncs_free(&found);
	return err;
}

/*
 * With a link for each process that is selected, others have no breakpoints, and pay nothing.  Not
 * with uprobe.multi: the first kernels that have it take PID for a thread (6.6 to 6.9).
 */
int plumb_build_attach(struct plumb_build *b, char *what, size_t size)
{
	const struct plumb_builds_use *use = plumb_traced.use;
	const struct plumb_options *o = plumb_traced.options;
	const bool is_by_process = use->is_by_process && use->is_by_process(plumb_traced.bpf);
	struct plumb_probes *probes = plumb_traced.probes;
	int err = -ESRCH, one;

	plumb_build_set_path(b);
	b->code = plumb_build_code(b);
	b->first_probe = probes->n;
	for (uint32_t i = 0; is_by_process && i < o->n_pids; i++) {
		probes->process = o->pids[i];
		one = attach_functions(b, what, size);
		err = err ? one : 0;
	}
	probes->process = 0;
	if (!is_by_process || !o->n_pids)
		err = attach_functions(b, what, size);
	if (!err && use->also)
		err = attach_also(b, what, size);
	b->probes = probes->n - b->first_probe;
	clock_gettime(CLOCK_REALTIME, &b->since);
	return err;
}

int plumb_builds_attach(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			size_t size)
{
	int err = 0;

	plumb_traced.bpf = bpf;
	plumb_traced.probes = probes;
	probes->with_cookies = bpf->function && bpf->function->with_cookies;
	for (size_t i = 0; i < plumb_traced.n && !err; i++)
		if (plumb_traced.list[i].functions.n)
			err = plumb_build_attach(&plumb_traced.list[i], what, size);
	return err;
}

int plumb_builds_attach_self_test(const struct plumb_bpf *bpf, struct plumb_probes *probes,
				  char *what, size_t size)
{
	static const struct plumb_build own;
	struct plumb_userfuncs found;
	int err = plumb_self_test_find_userfunc(bpf->trigger, &found);

	if (err)
		return err;
	probes->with_cookies = bpf->function && bpf->function->with_cookies;
	err = plumb_traced.use->attach(bpf, probes, &found, 0, &own, what, size);
	plumb_userfuncs_free(&found);
	return err;
}

/* --- programs --- */

/*
 * Threads in a call at once that are kept in a hash, where there is no task storage.  The hash is
 * allocated at once, and a state has 3 kB.
 */
#define MAX_HASHED 4096

#define MAX_PROGRAMS 4

int plumb_builds_configure(struct plumb_bpf *bpf, const struct plumb_attach_target *hooks,
			   bool calibration)
{
	static const char *programs[MAX_PROGRAMS + 1]; /* of all instances of a mechanism */
	int err = 0;
	size_t n = 0;

	/* A thread can be preempted in a program by another that runs it. */
	bpf->config->interleaved = true;
	bpf->function->frames = 1;
	bpf->function->with_cookies = plumb_probes_have_cookies();
	bpf->function->since = plumb_now();
	bpf->copied = programs;
	bpf->attach = calibration ? plumb_builds_attach_self_test : plumb_builds_attach;
	bpf_map__set_max_entries(bpf_object__find_map_by_name(bpf->object, "plumb_threads_by_task"),
				 MAX_HASHED);
	for (const struct plumb_attach_target *a = hooks; a->hook && !err; a++) {
		programs[n++] = a->program;
		bpf->function->with_cookies |= plumb_hook_is_multi(a->hook);
		if (a->hook == PLUMB_UPROBE_SESSION && !plumb_has_user_sessions())
			return -EOPNOTSUPP;
		err = plumb_probe_prepare(bpf_object__find_program_by_name(bpf->object, a->program),
					  a->hook, NULL);
	}
	programs[n] = NULL;
	return err;
}
