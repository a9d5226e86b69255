/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stddef.h>
#include <string.h>
#include <plumb/bpf/function/function.h>
#include <plumb/core/collect.h>
#include <plumb/core/cpus.h>
#include <plumb/core/program.h>
#include <plumb/core/session.h>
#include <plumb/core/snapshot.h>
#include <plumb/kernel/cgroup.h>

#include <bpf/libbpf.h>

/*
 * Misses of kprobe and tracepoint programs are counted from 6.7 on, those of programs on perf
 * events never (bpf_overflow_handler() in kernel/events/core.c).
 */
static bool misses_are_counted(const struct plumb_session *s, const struct bpf_program *p)
{
	switch (bpf_program__type(p)) {
	case BPF_PROG_TYPE_KPROBE:
	case BPF_PROG_TYPE_TRACEPOINT:
		return s->instance.kprobe_misses;
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
static bool execution_is_end(const struct plumb_session *s, const struct plumb_ledger *l)
{
	const struct plumb_attach_target *targets = s->instance.mechanism->attach_targets;

	if (!targets)
		return l->began && !s->instance.mechanism->misses_are_calls;
	return targets[1].hook || targets->hook == PLUMB_FSESSION ||
	       targets->hook == PLUMB_FSESSION_MULTI;
}

/* Whether P is in LIST; NULL: there is none. */
static bool is_in(const char *const *list, const struct bpf_program *p)
{
	while (list && *list && strcmp(*list, bpf_program__name(p)) != 0)
		list++;
	return list && *list;
}

/* Sums the executions that the kernel skipped, of all programs that matter. */
static void read_missed(const struct plumb_session *s, struct plumb_snapshot *snap)
{
	const struct plumb_attach_target *targets = s->instance.mechanism->attach_targets;
	const struct plumb_mechanism *m = s->instance.mechanism;
	const struct plumb_probes *probes = &s->instance.probes;
	struct bpf_program *p;
	uint64_t before;

	snap->missed_known = true;
	bpf_object__for_each_program(p, s->instance.bpf.object)
	{
		if (!bpf_program__autoload(p) || (m->vital && !is_in(m->vital, p)))
			continue;
		before = snap->missed;
		if (!misses_are_counted(s, p) ||
		    !plumb_program_missed(bpf_program__fd(p), &snap->missed))
			snap->missed_known = false;
		if (is_in(m->whole, p))
			snap->missed_whole += snap->missed - before;
	}
	snap->missed -= snap->ledger.rescued < snap->missed ? snap->ledger.rescued : snap->missed;
	if ((probes->by && !probes->by->missed(probes, &snap->missed)) ||
	    (targets && !plumb_hook_is_fentry(targets->hook) && !s->instance.kprobe_misses))
		snap->missed_known = false;
}

/* Replaces the id of a cgroup by that of the first of its path; false: it is that. */
static bool replace_cgroup(char *id_at)
{
	uint64_t id, first;

	memcpy(&id, id_at, sizeof(id));
	first = plumb_cgroup_first(id);
	memcpy(id_at, &first, sizeof(first));
	return first != id;
}

/* A cgroup that was made again under its path goes on in the row of the first. */
static int join_cgroups(const struct plumb_session *s, struct plumb_snapshot *snap)
{
	const struct plumb_keys *keys = &s->tool->keys;
	const uint32_t by = s->options.by;
	bool joins = false;

	if (!(by & (PLUMB_BY_CGROUP | keys->cgroups)) || by & PLUMB_BY_CGROUP_ID)
		return 0;
	for (size_t i = 0; i < snap->n; i++) {
		char *key = (char *)snap->rows[i].key; /* in snap->keys */

		if (key && by & PLUMB_BY_CGROUP)
			joins |= replace_cgroup(key + offsetof(struct plumb_who, cgroup));
		if (key && by & keys->cgroups)
			joins |= replace_cgroup(key + keys->cgroup_at);
	}
	return joins ? plumb_snapshot_join(snap, keys->size) : 0;
}

int plumb_collect(const struct plumb_session *s, struct plumb_snapshot *snap)
{
	const struct plumb_bpf *bpf = &s->instance.bpf;
	const struct plumb_maps maps = {
		.object = bpf->object,
		.config = bpf->config,
		.ledgers = bpf->ledgers,
		.read_until = s->instance.has_returns ? bpf->read_until : NULL,
		.key_size = s->tool->keys.size,
		.max_keys = s->options.max_keys,
	};
	int err = plumb_snapshot_take(&maps, snap);

	err = err ?: join_cgroups(s, snap);
	if (err)
		return err;
	snap->stages = s->options.by & s->tool->measure.stage_by ? s->tool->measure.stages : 1;
	snap->stage_at = s->tool->measure.stage_at;
	read_missed(s, snap);
	snap->missed += snap->ledger.guard_missed;
	snap->missed_ends = execution_is_end(s, &snap->ledger);
	snap->cpus_watched = plumb_cpus_are_watched();
	snap->cpus_changed = plumb_cpus_changed();
	snap->in_cookies = bpf->function && !bpf->function->frames;
	return 0;
}
