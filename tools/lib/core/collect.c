/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stddef.h>
#include <plumb/bpf/function/function.h>
#include <plumb/core/collect.h>
#include <plumb/core/cpus.h>
#include <plumb/core/part.h>
#include <plumb/core/program.h>
#include <plumb/core/run.h>
#include <plumb/core/snapshot.h>
#include <plumb/kernel/cgroup.h>

#include <bpf/libbpf.h>

/*
 * Misses of kprobe and tracepoint programs are counted from 6.7 on, those of programs on perf
 * events never (bpf_overflow_handler() in kernel/events/core.c).
 */
static bool misses_are_counted(const struct plumb_run *run, const struct bpf_program *p)
{
	switch (bpf_program__type(p)) {
	case BPF_PROG_TYPE_KPROBE:
	case BPF_PROG_TYPE_TRACEPOINT:
		return run->instance.kprobe_misses;
	case BPF_PROG_TYPE_PERF_EVENT:
		return false;
	default:
		return true;
	}
}

/*
 * Whether an execution is one end of a call.  It is not if the programs see one end only, nor in
 * kprobe.session, which does not run at the return of a call whose entry it missed.
 */
static bool execution_is_end(const struct plumb_run *run, const struct plumb_ledger *l)
{
	const struct plumb_attach_target *targets = run->instance.mechanism->attach_targets;

	if (!targets)
		return l->began && !run->instance.mechanism->misses_are_calls;
	return targets[1].hook || targets->hook == PLUMB_FSESSION ||
	       targets->hook == PLUMB_FSESSION_MULTI;
}

/* Without thread_fork (lifecycle.bpf.h) a process is not seen as a descendant, nor is what it does.
 */
static bool is_vital(const struct plumb_mechanism *m, const char *name)
{
	return !m->vital || plumb_is_one_of(m->vital, name) || !strcmp(name, "thread_fork");
}

/* Sums the executions that the kernel skipped, of all programs that matter. */
static void read_missed(const struct plumb_run *run, struct plumb_snapshot *snap)
{
	const struct plumb_attach_target *targets = run->instance.mechanism->attach_targets;
	const struct plumb_mechanism *m = run->instance.mechanism;
	const struct plumb_probes *probes = &run->instance.probes;
	struct bpf_program *p;
	const char *name;
	uint64_t before;

	snap->missed_known = true;
	bpf_object__for_each_program(p, run->instance.bpf.object) {
		name = bpf_program__name(p);
		if (!bpf_program__autoload(p) || !is_vital(m, name) ||
		    plumb_parts_have_program(name))
			continue;
		before = snap->missed;
		if (!misses_are_counted(run, p) ||
		    !plumb_program_missed(bpf_program__fd(p), &snap->missed))
			snap->missed_known = false;
		if (plumb_is_one_of(m->whole, name))
			snap->missed_whole += snap->missed - before;
	}
	snap->missed -= snap->ledger.rescued < snap->missed ? snap->ledger.rescued : snap->missed;
	if ((probes->by && !probes->by->missed(probes, &snap->missed)) ||
	    (targets && !plumb_hook_is_fentry(targets->hook) && !run->instance.kprobe_misses))
		snap->missed_known = false;
}

/* A cgroup that was made again, or is of a container that has others, goes on in the first's row.
 */
static bool unify_cgroups(struct plumb_who *who)
{
	const uint64_t id = who->cgroup;

	who->cgroup = plumb_cgroup_first(id);
	return who->cgroup != id;
}

static int join_rows(const struct plumb_run *run, struct plumb_snapshot *snap)
{
	const bool cgroups =
		run->options.by & PLUMB_BY_CGROUPS && !(run->options.by & PLUMB_BY_CGROUP_ID);
	void (*const unify)(void *key) = run->tool->keys.unify;
	bool joins = unify;

	for (size_t i = 0; (cgroups || unify) && i < snap->n; i++) {
		void *key = (void *)snap->rows[i].key; /* in snap->keys */

		if (key && cgroups)
			joins |= unify_cgroups(key);
		if (key && unify)
			unify(key);
	}
	return joins ? plumb_snapshot_join(snap, run->tool->keys.size) : 0;
}

int plumb_collect(const struct plumb_run *run, struct plumb_snapshot *snap)
{
	const struct plumb_bpf *bpf = &run->instance.bpf;
	const struct plumb_maps maps = {
		.object = bpf->object,
		.config = bpf->config,
		.ledgers = bpf->ledgers,
		.read_until = run->instance.has_returns ? bpf->read_until : NULL,
		.key_size = run->tool->keys.size,
	};
	int err = plumb_snapshot_take(&maps, snap);

	err = err ?: join_rows(run, snap);
	if (err)
		return err;
	snap->stages =
		run->options.by & run->tool->measure.stage_by ? run->tool->measure.stages : 1;
	snap->stage_at = run->tool->measure.stage_at;
	read_missed(run, snap);
	snap->missed += snap->ledger.guard_missed;
	snap->missed_ends = execution_is_end(run, &snap->ledger);
	snap->cpus_watched = plumb_cpus_are_watched();
	snap->cpus_changed = plumb_cpus_changed();
	snap->in_cookies = bpf->function && !bpf->function->frames;
	return 0;
}
