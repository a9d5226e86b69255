/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "configure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <plumb/bpf/function/function.h>
#include <plumb/bpf/sched/waker.h>
#include <plumb/bpf/stack/stacks.h>
#include <plumb/core/attaching.h>
#include <plumb/core/cpus.h>
#include <plumb/core/filter.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/program.h>
#include <plumb/core/reasons.h>
#include <plumb/kernel/kernel.h>
#include <plumb/kernel/preemption.h>
#include <plumb/kernel/thread.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static struct bpf_map *map(const struct plumb_bpf *bpf, const char *name)
{
	return bpf_object__find_map_by_name(bpf->object, name);
}

/* Whether these programs can use task storage, found by trying; -1: not tried yet. */
static int task_storage = -1;

static bool has_task_storage(void)
{
	if (task_storage < 0)
		task_storage = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1 &&
			       libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT,
						       BPF_FUNC_task_storage_get, NULL) == 1;
	return task_storage;
}

/* tp_btf programs, which alone reach the storage of a thread other than the current one. */
static bool has_tracing(void)
{
	return libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_TRACING, NULL) == 1;
}

static bool is_listed(const struct plumb_instance *in, const char *name)
{
	for (const struct plumb_attach_target *a = in->mechanism->attach_targets; a && a->hook; a++)
		if (!strcmp(a->program, name))
			return true;
	return plumb_is_one_of(in->mechanism->programs, name) ||
	       plumb_is_one_of(in->mechanism->test_runs, name) ||
	       plumb_is_one_of(in->bpf.copied, name);
}

/* Whether states in task storage must be read by an iterator program, and the kernel has these. */
static bool needs_iterator(const struct plumb_config *c)
{
	return c->task_storage && !plumb_threads_have_pidfds() && has_tracing();
}

/* Whether cgroups are named in rows or records. */
static bool names_cgroups(const struct plumb_run *run)
{
	return run->options.by & PLUMB_BY_CGROUPS || run->tool->keys.records_cgroup;
}

/*
 * Chooses among the programs that follow threads, which a tool has if it includes their header:
 * each is loaded under a condition.  They are attached in this order.
 */
static void choose_thread_programs(const struct plumb_run *run, struct plumb_instance *in)
{
	const struct plumb_config *c = in->bpf.config;
	const bool remembers = in->mechanism->remembers_rejected;
	/* At a switch, which the calibration does not time, unless the tool is of switches. */
	const bool returns = !*in->no_return && !(in->calibrates && run->tool->overhead.syscalls);
	const struct {
		const char *name;
		bool loaded;
		bool run; /* by the loader, not attached */
	} programs[] = {
		{"thread_exit", !in->bpf.states, false},
		{"thread_ends", true, false},
		{"name_changes", true, false},
		{"thread_fork", c->descendants || c->npids || c->ntids, false},
		{"process_free", c->descendants, false},
		{"thread_executes", !in->bpf.states, false},
		{"thread_woken", c->waits && !c->preempt_count, false},
		{"thread_woken_by_count", c->waits && c->preempt_count, false},
		{"thread_leaves", c->split, false},
		{"thread_switch_btf", c->off_cpu && c->task_storage, false},
		{"thread_switch_raw", c->off_cpu && !c->task_storage, false},
		{"thread_waking_btf", c->split && c->task_storage, false},
		{"thread_waking_raw", c->split && !c->task_storage, false},
		{"thread_returns", returns, false},
		{"thread_preempted", c->preemptible, false},
		{"thread_renamed", remembers && (c->ncomms || c->globs.n), false},
		{"thread_moved", c->ncgroups, false},
		{"cgroup_removed", names_cgroups(run), false},
		{"cpu_leaves", in->bpf.cpus_left && plumb_cpus_can_leave(), false},
		{"thread_states", run->tool->inflight && needs_iterator(c), true},
		{"state_self_test", !in->bpf.states, true},
		{"user_mode_self_test", true, true},
	};
	struct bpf_program *p;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		p = bpf_object__find_program_by_name(in->bpf.object, programs[i].name);
		if (!p)
			continue;
		bpf_program__set_autoload(p, programs[i].loaded);
		if (programs[i].loaded && !programs[i].run)
			in->threads[in->n_threads++] = p;
	}
}

/* Loads only what this mechanism attaches and what the loader runs itself. */
static void choose_programs(const struct plumb_run *run, struct plumb_instance *in)
{
	struct bpf_program *p;

	/* Those of irq-time.bpf.h are all of the form NAME_time_begins or NAME_time_ends. */
	bpf_object__for_each_program(p, in->bpf.object)
		if (plumb_parts_have_program(bpf_program__name(p)) ||
		    (in->bpf.config->split && strstr(bpf_program__name(p), "_time_")))
			in->threads[in->n_threads++] = p;
		else if (!is_listed(in, bpf_program__name(p)))
			bpf_program__set_autoload(p, false);
	choose_thread_programs(run, in);
}

/* Whether programs can interrupt one another on a CPU, as copies for several functions can. */
static bool may_interleave(const struct plumb_instance *in)
{
	const struct plumb_attach_target *a = in->mechanism->attach_targets;

	if (in->mechanism->interleaved || in->bpf.config->cpus > PLUMB_LEDGERS)
		return true;
	if (!a || in->bpf.config->unguarded)
		return false;
	return !plumb_hook_is_multi(a->hook) && in->functions->n > 1 && !in->bpf.own_slots;
}

/*
 * A program of a uprobe can be preempted while it makes a task's storage.  Meanwhile the kernel
 * makes none for other threads of that CPU, whose calls would be lost (6.12 with preempt=full).
 */
static bool may_be_preempted_in_storage(const struct plumb_config *c)
{
	return c->interleaved && plumb_kernel_is_preemptible();
}

/*
 * Whether entry and exit have separate programs that can be preempted.  A session needs no check:
 * its cookie is 0 if the entry was missed.
 */
static bool may_skip_ends(const struct plumb_instance *in)
{
	const struct plumb_attach_target *targets = in->mechanism->attach_targets;

	if (in->mechanism->preemptible == PLUMB_AS_RAW)
		return plumb_raw_tracepoints_can_be_preempted();
	if (in->mechanism->preemptible == PLUMB_AS_FENTRY)
		return plumb_kernel_is_preemptible();
	return targets && targets->hook == PLUMB_FEXIT && plumb_kernel_is_preemptible();
}

/*
 * Whether calls need frames.  A session keeps the start of a call in its cookie, which is enough
 * for simple tools.
 */
static bool needs_frames(const struct plumb_instance *in)
{
	switch (in->mechanism->attach_targets->hook) {
	case PLUMB_FSESSION:
	case PLUMB_FSESSION_MULTI:
		return in->bpf.config->off_cpu || in->bpf.function->nested;
	case PLUMB_KPROBE_SESSION:
		return in->bpf.config->off_cpu || in->bpf.function->nested ||
		       in->bpf.function->takes_args;
	default:
		return true;
	}
}

/* Sets how programs of function.bpf.h keep calls in flight. */
static void configure_function(struct plumb_instance *in)
{
	const struct plumb_config *c = in->bpf.config;
	struct function_config *f = in->bpf.function;

	f->target = in->functions->n == 1 ? in->attaching->target(in->functions, 0) : ~0ULL;
	f->frames = needs_frames(in);
	f->paired = in->mechanism->attach_targets->hook == PLUMB_FEXIT;
	f->inflight_slots = in->mechanism->attach_targets->hook == PLUMB_FEXIT && !c->interleaved &&
			    !c->off_cpu && !f->nested;
}

/* Prepares the mechanism's programs for the functions. */
int plumb_configure_attach_targets(struct plumb_instance *in)
{
	struct bpf_program *p;
	int err = 0;

	if (in->bpf.function)
		configure_function(in);
	for (const struct plumb_attach_target *a = in->mechanism->attach_targets; a->hook && !err;
	     a++) {
		p = bpf_object__find_program_by_name(in->bpf.object, a->program);
		err = p ? in->attaching->prepare(p, a->hook, in->functions) : -ENOENT;
	}
	return err;
}

/* Sets the BTF id of the preemption count in thread_woken_by_count (waker.bpf.h). */
static int set_preempt_count(const struct plumb_bpf *bpf, uint32_t btf_id)
{
	struct bpf_program *p =
		bpf_object__find_program_by_name(bpf->object, "thread_woken_by_count");
	struct bpf_insn *insns =
		plumb_insns_copy(p, PLUMB_PREEMPT_COUNT_UNSET, BPF_PSEUDO_BTF_ID, btf_id);
	int err = insns ? bpf_program__set_insns(p, insns, bpf_program__insn_cnt(p)) : -ENOMEM;

	free(insns);
	return err;
}

/* Has programs read the kernel's memory by plain loads (peek.bpf.h). */
static void configure_peeks(const struct plumb_bpf *bpf)
{
	struct bpf_program *p;
	uint32_t cast, type;
	bool can = true;

	bpf_object__for_each_program(p, bpf->object) {
		if (!can || !plumb_insns_calls(p, PLUMB_CAST_UNSET))
			continue;
		can = plumb_kernel_casts(&cast, &type) &&
		      !plumb_insns_call(p, PLUMB_CAST_UNSET, cast);
		bpf->config->word_type = can ? type : 0;
	}
}

/*
 * Programs on sched_switch correct what a program at the exit of a call has counted; where that can
 * be preempted, they come in between.
 */
static void configure_returns(const struct plumb_run *run, struct plumb_instance *in)
{
	struct plumb_config *c = in->bpf.config;

	in->has_returns = map(&in->bpf, "plumb_returns");
	if (!in->has_returns)
		return;
	if (run->options.no_return)
		snprintf(in->no_return, sizeof(in->no_return), "--no-return");
	else
		c->interleaved |= c->preemptible;
}

bool plumb_configure_without(struct plumb_instance *in, const struct bpf_program *p, int err)
{
	if (strcmp(bpf_program__name(p), "thread_returns") != 0)
		return false;
	in->without = p;
	snprintf(in->no_return, sizeof(in->no_return), "sched_switch refused: %s",
		 plumb_errno_name(err));
	return true;
}

void plumb_configure(const struct plumb_run *run, struct plumb_instance *in)
{
	struct plumb_bpf *bpf = &in->bpf;
	const struct plumb_options *o = &run->options;
	static const char *const per_cpu[] = {"plumb_rejected", "plumb_inflight_slots",
					      "plumb_stays",    "plumb_switches",
					      "plumb_returns",  "plumb_turns"};
	struct plumb_config *c = bpf->config;
	struct bpf_map *m;
	uint32_t count;

	plumb_filter_configure(run, c);
	plumb_parts_configure(bpf);
	configure_peeks(bpf);
	c->by = o->by & PLUMB_BY_CGROUPS ? o->by | PLUMB_BY_CGROUP : o->by;
	c->split |= o->split;
	c->waits |= c->split || c->wakers;
	if (c->wakers)
		c->preempt_count = plumb_kernel_preempt_count(&count);
	if (c->preempt_count && set_preempt_count(bpf, count))
		c->preempt_count = PLUMB_PREEMPT_COUNT_NONE; /* no memory */
	c->cpus = libbpf_num_possible_cpus();
	c->slots = o->max_keys + 1;
	c->task_storage = !bpf->states && !bpf->no_storage && has_task_storage() &&
			  (!c->off_cpu || has_tracing()) &&
			  !(map(bpf, "plumb_threads") && may_be_preempted_in_storage(c));
	c->second = run->tool->measure.second ? c->slots : 0;
	c->unguarded = in->mechanism->attach_targets &&
		       plumb_hook_is_fentry(in->mechanism->attach_targets->hook) &&
		       !plumb_fentry_is_guarded();
	c->preemptible = may_skip_ends(in);
	c->interleaved |= may_interleave(in);
	configure_returns(run, in);
	m = map(bpf, "plumb_threads_by_task");
	if (m && (c->task_storage || bpf->states))
		bpf_map__set_autocreate(m, false);
	m = map(bpf, "plumb_threads");
	if (m && !c->task_storage)
		bpf_map__set_autocreate(m, false);
	choose_programs(run, in);
	m = map(bpf, "plumb_cgroups_gone");
	if (m && !names_cgroups(run))
		bpf_map__set_autocreate(m, false);
	if (!c->descendants)
		bpf_map__set_max_entries(map(bpf, "plumb_descendants"), 1);
	plumb_configure_hist(run, c, bpf);
	for (size_t i = 0; i < sizeof(per_cpu) / sizeof(per_cpu[0]); i++) {
		m = map(bpf, per_cpu[i]);
		if (m)
			bpf_map__set_max_entries(m, bpf_map__max_entries(m) * c->cpus);
	}
	m = map(bpf, "plumb_wakers");
	if (m && !c->wakers)
		bpf_map__set_max_entries(m, 1);
	bpf_map__set_max_entries(map(bpf, "plumb_keys"), o->max_keys);
	bpf_map__set_max_entries(map(bpf, "plumb_keys_by_slot"), o->max_keys + 1);
	bpf_map__set_max_entries(map(bpf, "plumb_free_slots"), o->max_keys);
}

void plumb_configure_calibration(struct plumb_config *c, enum plumb_calibration calibration)
{
	bool takes = calibration == PLUMB_CALIBRATION_TAKES;

	if (!calibration)
		return;
	c->self = c->npids = 0;
	c->ntids = takes || !(c->ncomms || c->globs.n || c->descendants);
	c->tids[0] = takes ? gettid() : 1;
	for (uint32_t i = 0; i < c->ncomms; i++)
		strcpy(c->comms[i], "\1"); /* no thread's name */
	if (c->ncomms && takes)
		prctl(PR_GET_NAME, c->comms[c->ncomms - 1]);
	/* Match any name, or none. */
	c->globs.stars = c->globs.ends = takes ? ~0ULL : 0;
}

void plumb_configure_without_storage(void)
{
	task_storage = 0;
}
