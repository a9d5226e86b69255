/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* guard: the audit record of a run, the administrator's policy, and giving up privileges. */

#include <errno.h>
#include <signal.h>
#include <plumb/bpf/key/key.h>
#include <plumb/core/cli.h>
#include <plumb/core/inflight.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/run.h>
#include <plumb/core/verdict.h>
#include <plumb/files/writer.h>
#include <plumb/guard/allowed.h>
#include <plumb/guard/attached.h>
#include <plumb/guard/audit.h>
#include <plumb/guard/confine.h>
#include <plumb/guard/policy.h>
#include <plumb/kernel/cgroup.h>
#include <plumb/kernel/preemption.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* --- hooks: those of the tool first, then those by which threads are followed --- */

static void add_section(struct plumb_attached *a, const struct bpf_program *p)
{
	char name[256];

	if (bpf_program__autoload(p) && *plumb_section_name(p, name, sizeof(name)))
		plumb_attached_add_hook(a, name);
}

static void add_hooks(struct plumb_attached *a, const struct plumb_instance *in)
{
	const char *const *programs = in->mechanism->programs;

	for (; programs && *programs; programs++)
		add_section(a, bpf_object__find_program_by_name(in->bpf.object, *programs));
	plumb_attached_add_probes(a, &in->probes);
	/* Functions that are chosen at run time are not in a section's name. */
	for (size_t i = 0; !a->n_hooks && i < PLUMB_MAX_HOOKS && *in->bpf.hooks[i]; i++)
		plumb_attached_add_hook(a, in->bpf.hooks[i]);
	for (size_t i = 0; i < in->n_threads; i++)
		add_section(a, in->threads[i]);
}

/* --- filters --- */

static void add_numbers(json_t *filters, const char *name, const uint32_t *list, uint32_t n)
{
	json_t *numbers = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(numbers, plumb_json_u64(list[i]));
	json_object_set_new(filters, name, numbers);
}

static void add_words(json_t *filters, const char *name, char *const *list, size_t n)
{
	json_t *words = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(words, plumb_json_bytes(list[i]));
	json_object_set_new(filters, name, words);
}

static json_t *list_filters(const struct plumb_options *o)
{
	json_t *filters = json_object();
	size_t words = 0;

	while (o->command && o->command[words])
		words++;
	add_numbers(filters, "pid", o->pids, o->n_pids);
	add_numbers(filters, "tid", o->tids, o->n_tids);
	add_words(filters, "comm", o->comms_typed, o->n_comms_typed);
	add_words(filters, "cgroup", o->cgroups, o->n_cgroups);
	add_words(filters, "command", o->command, words);
	return filters;
}

/* The record of what a trace is attached to. */
static int record_trace(struct plumb_run *run)
{
	struct plumb_attached a = {};

	plumb_own_child(plumb_audit_watcher());
	if (!plumb_audit_is_on())
		return 0;
	plumb_attached_add_object(&a, run->instance.bpf.object);
	add_hooks(&a, &run->instance);
	return plumb_attached_write(&a, run->instance.mechanism->name, list_filters(&run->options));
}

/* For the record of the end. */
static void record_total(const struct plumb_snapshot *total)
{
	const struct plumb_verdict v = plumb_ledger_judge(total);

	plumb_audit_counted(v.recorded, v.lost, total->missed_known);
}

/* --- what a run still needs after it is attached, of capabilities and system calls --- */

static bool can_ask(void *object)
{
	const struct bpf_map *map = bpf_object__next_map(object, NULL);
	struct bpf_map_info info = {};
	__u32 size = sizeof(info);

	/* The map may not have been created: another error. */
	return !map || !bpf_obj_get_info_by_fd(bpf_map__fd(map), &info, &size) || errno != EPERM;
}

/*
 * Before 5.19, all of bpf(2) takes CAP_BPF or CAP_SYS_ADMIN if kernel.unprivileged_bpf_disabled is
 * set.
 */
static void keep_maps(const struct plumb_run *run)
{
	const uint64_t either = PLUMB_CAP(BPF) | PLUMB_CAP(SYS_ADMIN);
	const uint64_t held = plumb_capabilities() & either;
	uint64_t needed = 0;

	if (!plumb_can_without(either, can_ask, run->instance.bpf.object))
		needed = held & PLUMB_CAP(BPF) ?: held;
	plumb_retain(needed, PLUMB_CALLS_READ_MAPS, "reports");
	if (plumb_kernel_is_preemptible())
		plumb_retain(PLUMB_CAP(SYS_NICE), 0, "reading maps at real-time priority");
	if (run->instance.bpf.states)
		plumb_retain(PLUMB_CAP(SYS_PTRACE), PLUMB_CALLS_WRITE_MAPS,
			     "states of processes that end");
}

static void keep_programs(const struct plumb_run *run)
{
	const struct plumb_instance *in = &run->instance;
	const struct bpf_program *iterator =
		bpf_object__find_program_by_name(in->bpf.object, "thread_states");

	if (in->mechanism->test_runs)
		plumb_retain(0, PLUMB_CALLS_RUN_PROGRAMS, "what only programs can read");
	if (iterator && bpf_program__autoload(iterator))
		plumb_retain(0, PLUMB_CALLS_ITERATE, "states of threads");
}

/* What writes files from now on is another process. */
static int confine(struct plumb_run *run)
{
	const struct plumb_in_flight *in_flight = plumb_parts_in_flight(run->tool);
	const int err = plumb_writer_start(plumb_confine);

	if (err)
		return err;
	/* While this process may look: a tool that keeps no capability cannot later. */
	if (run->tool->options.syscalls && !run->child)
		run->tool->options.syscalls->rings(run);
	keep_maps(run);
	keep_programs(run);
	if (in_flight)
		in_flight->keep(run);
	plumb_retain_all();
	if (run->options.n_cgroups)
		plumb_retain(0, PLUMB_CALLS_WRITE_MAPS, "cgroups that are made again");
	if (run->instance.probes.by)
		run->instance.probes.by->keep(&run->instance.probes);
	if (run->options.by & PLUMB_BY_CGROUPS)
		plumb_cgroup_retain();
	if (run->child)
		plumb_retain_signals(PLUMB_CAP(KILL), run->child, "ending the command");
	return plumb_confine();
}

/* --- the part --- */

static const char *sink; /* of --audit */

static void set_sink(const char *option, const char *text, struct plumb_options *o)
{
	if (!*text)
		plumb_usage_error("%s: FILE, syslog or audit", option);
	sink = text;
}

static const struct plumb_option options[] = {
	{"audit", 0, "FILE|syslog|audit", "leave records of this run there, or do not run", -1,
	 .parse = set_sink},
	{0},
};

static bool has(const struct plumb_tool *tool)
{
	return true;
}

static void start(const char *program)
{
	plumb_audit_begin(program, sink);
}

static bool ends_itself; /* by -d, at max-duration at the latest */

static int prepare(struct plumb_options *o, const struct plumb_tool *tool)
{
	ends_itself = o->duration && o->duration <= plumb_policy_max_duration();
	plumb_policy_check_duration(o->duration);
	return 0;
}

static void configure(struct plumb_bpf *bpf)
{
	*bpf->deadline = plumb_audit_deadline();
	bpf->config->limited = *bpf->deadline != 0;
}

static void begin(struct plumb_run *run)
{
	plumb_audit_begin_limit();
	*run->instance.bpf.deadline = plumb_audit_deadline();
}

static void ends(const char *how, int signal, int code)
{
	/* Both timers end at once if -d is max-duration. */
	if (!how && code == SI_TIMER && ends_itself)
		how = "duration";
	if (how)
		plumb_audit_ended(how);
	else
		plumb_audit_ended_by(signal, code);
}

static void detached(struct plumb_run *run)
{
	plumb_audit_detached();
}

const struct plumb_part plumb_guard_part = {
	.name = "guard",
	.options = options,
	.has = has,
	.start = start,
	.prepare = prepare,
	.configure = configure,
	.allow = plumb_allowed_section,
	.open = record_trace,
	.confine = confine,
	.begin = begin,
	.may_report = plumb_audit_check,
	.ends = ends,
	.end = plumb_audit_end_limit,
	.detached = detached,
	.total = record_total,
	.leave = plumb_writer_stop,
};
