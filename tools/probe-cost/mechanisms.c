/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "mechanisms.h"

#include "probe-cost.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/reasons.h>
#include <plumb/guard/attached.h>
#include <plumb/user/probe-userfuncs.h>
#include <plumb/user/self-test.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "probe-cost.skel.h"

/* Fires that a probe is checked with. */
#define PROOF 100

const char *const bodies[BODIES] = {"empty", "counter", "histogram"};

/* A system call without effect that other processes hardly make. */
static void call_rarely(void)
{
	syscall(__NR_sched_get_priority_min, 0);
}

#define RENAME(name_, section_, hook_)                                                             \
	{                                                                                          \
		.name = (name_), .section = (section_), .hook = (hook_), .runs = 1,                \
		.trigger = plumb_self_test_rename,                                                 \
	}
#define FUNCTION(name_, section_, hook_, runs_, since_)                                            \
	{                                                                                          \
		.name = (name_), .section = (section_), .hook = (hook_), .runs = (runs_),          \
		.since = (since_), .trigger = plumb_self_test_syscall,                             \
	}
#define USER(name_, hook_, since_)                                                                 \
	{                                                                                          \
		.name = (name_), .section = "kprobe", .hook = (hook_), .runs = 1,                  \
		.since = (since_), .trigger = plumb_self_test_call,                                \
	}

struct mechanism mechanisms[] = {
	RENAME("raw_tp", "raw_tp", PLUMB_RAW_TRACEPOINT),
	RENAME("tracepoint", "tracepoint", PLUMB_TRACEPOINT),
	FUNCTION("fentry", "fentry", PLUMB_FENTRY, 1, NULL),
	FUNCTION("fexit", "fentry", PLUMB_FEXIT, 1, NULL),
	FUNCTION("fsession", "fentry", PLUMB_FSESSION, 2, "7.0"),
	FUNCTION("kprobe", "kprobe", PLUMB_KPROBE, 1, NULL),
	FUNCTION("kretprobe", "kprobe", PLUMB_KRETPROBE, 1, NULL),
	FUNCTION("kprobe.multi", "kprobe", PLUMB_KPROBE_MULTI, 1, "5.18 and CONFIG_FPROBE"),
	FUNCTION("kprobe.session", "kprobe", PLUMB_KPROBE_SESSION, 2, "6.10 and CONFIG_FPROBE"),
	USER("uprobe", PLUMB_UPROBE, NULL),
	USER("uretprobe", PLUMB_URETPROBE, NULL),
	USER("uprobe.multi", PLUMB_UPROBE_MULTI, "6.6"),
	{
		.name = "bystander",
		.section = "tracepoint",
		.hook = PLUMB_TRACEPOINT,
		.runs = 1,
		.trigger = plumb_self_test_syscall,
		.prove = call_rarely,
		.tracepoint = "syscalls:sys_enter_sched_get_priority_min",
	},
};
const size_t n_mechanisms = sizeof(mechanisms) / sizeof(mechanisms[0]);

static struct plumb_functions function;
static struct plumb_userfuncs userfunc;

bool is_bystander(const struct mechanism *m)
{
	return m->tracepoint;
}

int bodies_of(const struct mechanism *m)
{
	return is_bystander(m) ? 1 : BODIES;
}

/* Return whether ERR is how a kernel rejects a feature that it does not know. */
static bool is_unknown(int err)
{
	return err == -EINVAL || err == -EOPNOTSUPP || err == -524; /* ENOTSUPP */
}

static int refuse(struct mechanism *m, int err)
{
	bool lacks = m->since && is_unknown(err);

	snprintf(m->why, sizeof(m->why), "%s%s%s", plumb_errno_name(err),
		 lacks ? ", needs Linux " : plumb_errno_hint(err), lacks ? m->since : "");
	plumb_info("%s refused: %s", m->name, m->why);
	return err;
}

static bool is_of_functions(const struct mechanism *m)
{
	return m->trigger == plumb_self_test_syscall && !is_bystander(m);
}

static const char *program_name(const struct mechanism *m, int body, char *text, size_t size)
{
	snprintf(text, size, "%s_%s", m->section, bodies[body]);
	return text;
}

static struct bpf_program *program_of(const struct mechanism *m, int body)
{
	char name[32];

	return bpf_object__find_program_by_name(m->skel->obj,
						program_name(m, body, name, sizeof(name)));
}

/* Add the entry that the tool's own fires will find. */
static int make_entry(const struct mechanism *m)
{
	static const struct probe_cost_histogram empty;
	struct probe_cost_key key = {.pid = getpid()};

	prctl(PR_GET_NAME, key.comm);
	return bpf_map__update_elem(m->skel->maps.histograms, &key, sizeof(key), &empty,
				    sizeof(empty), BPF_ANY);
}

static int load(struct mechanism *m)
{
	struct bpf_program *p;
	int err = 0;

	m->skel = probe_cost_bpf__open();
	if (!m->skel)
		return -errno;
	bpf_object__for_each_program(p, m->skel->obj)
		bpf_program__set_autoload(p, false);
	for (int body = 0; body < bodies_of(m) && !err; body++) {
		p = program_of(m, body);
		bpf_program__set_autoload(p, true);
		err = plumb_probe_prepare(p, m->hook, &function);
	}
	return err ?: probe_cost_bpf__load(m->skel) ?: make_entry(m);
}

void mechanisms_open(void)
{
	int no_function = plumb_self_test_find_function(NULL, &function);
	int no_userfunc = plumb_self_test_find_userfunc(plumb_self_test_call, &userfunc), err;

	for (struct mechanism *m = mechanisms; m < mechanisms + n_mechanisms; m++) {
		err = 0;
		if (no_function && is_of_functions(m))
			refuse(m, no_function);
		else if (no_userfunc && m->trigger == plumb_self_test_call)
			refuse(m, no_userfunc);
		else
			err = load(m);
		if (err)
			refuse(m, err);
	}
}

int mechanisms_leave_record(void)
{
	struct plumb_attached a = {};
	char name[512];

	plumb_attached_add_hook(&a, "t:task:task_rename");
	plumb_attached_add_hook(&a, "t:syscalls:sys_enter_sched_get_priority_min");
	if (function.n) {
		snprintf(name, sizeof(name), "k:%s", function.all->name);
		plumb_attached_add_hook(&a, name);
	}
	if (userfunc.n)
		plumb_attached_add_hook(&a, plumb_userfunc_name(&userfunc, 0, name, sizeof(name)));
	for (const struct mechanism *m = mechanisms; m < mechanisms + n_mechanisms; m++)
		if (m->skel && !*m->why)
			plumb_attached_add_object(&a, m->skel->obj);
	return plumb_attached_write(&a, "each in turn", NULL);
}

void mechanisms_close(void)
{
	for (struct mechanism *m = mechanisms; m < mechanisms + n_mechanisms; m++)
		probe_cost_bpf__destroy(m->skel);
	plumb_functions_free(&function);
	plumb_userfuncs_free(&userfunc);
}

static int find_tracepoint(const struct mechanism *m, struct plumb_tracepoints *found)
{
	int tracefs, err;

	if (!m->tracepoint)
		return plumb_self_test_find_tracepoint(found);
	tracefs = plumb_tracefs_open();
	if (tracefs < 0)
		return tracefs;
	err = plumb_tracepoints_find(tracefs, m->tracepoint, found);
	close(tracefs);
	return err;
}

static int attach_tracepoint(const struct mechanism *m, const char *program,
			     struct plumb_probes *probes, char *what, size_t size)
{
	bool raw = m->hook == PLUMB_RAW_TRACEPOINT;
	struct plumb_tracepoints t;
	int err = find_tracepoint(m, &t);

	if (err)
		return err;
	t.list->is_raw = raw; /* even if BTF, which may be missing, does not show it */
	err = plumb_probe_tracepoints(probes, m->skel->obj, raw ? program : NULL, program, &t, 0,
				      what, size);
	plumb_tracepoints_free(&t);
	return err;
}

int mechanism_attach(struct mechanism *m, int body, struct plumb_probes *probes)
{
	char name[32], what[128];
	const struct plumb_attach_target targets[] = {
		{program_name(m, body, name, sizeof(name)), m->hook}, {}};
	int err;

	*probes = (struct plumb_probes){};
	if (is_of_functions(m))
		err = plumb_probe_attach(probes, m->skel->obj, targets, &function, what,
					 sizeof(what));
	else if (m->trigger == plumb_self_test_call)
		err = plumb_probe_userfuncs(probes, m->skel->obj, targets, &userfunc, 0, 0, what,
					    sizeof(what));
	else
		err = attach_tracepoint(m, name, probes, what, sizeof(what));
	if (!err)
		return 0;
	plumb_probe_close(probes);
	return refuse(m, err);
}

uint64_t mechanism_runs(const struct mechanism *m, int body, const struct plumb_probes *probes)
{
	int program = probes->list->program;
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	if (program < 0) /* not a copy, but the object's own program */
		program = bpf_program__fd(program_of(m, body));
	return bpf_obj_get_info_by_fd(program, &info, &size) ? 0 : info.run_cnt;
}

int mechanism_prove(struct mechanism *m, int body, const struct plumb_probes *probes)
{
	uint64_t before = mechanism_runs(m, body, probes), runs, wanted = PROOF * m->runs;
	int statistics = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (statistics < 0) {
		snprintf(m->why, sizeof(m->why), "%s: no run-time statistics, to see if it fires",
			 plumb_errno_name(errno));
		return -errno;
	}
	for (int i = 0; i < PROOF; i++)
		(m->prove ?: m->trigger)();
	close(statistics);
	runs = mechanism_runs(m, body, probes) - before;
	if (runs >= wanted) /* other processes may fire it, too */
		return 0;
	snprintf(m->why, sizeof(m->why), "its program ran %llu times of %llu",
		 (unsigned long long)runs, (unsigned long long)wanted);
	return -ENXIO;
}
