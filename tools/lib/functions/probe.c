/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/functions/probing.h>

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/reasons.h>
#include <plumb/functions/allowed-functions.h>
#include <plumb/kernel/kernel.h>
#include <plumb/terminal/progress.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int open_kprobe(const struct plumb_function *function, bool at_return)
{
	/* By address, since several functions may have the same name. */
	if (function->address)
		return plumb_probe_open_pmu("kprobe", at_return, 0, function->address);
	return plumb_probe_open_pmu("kprobe", at_return, (uintptr_t)function->name, 0);
}

/*
 * Opens a kretprobe on one of N functions: in tracefs or, failing that, with the default maxactive.
 */
static void open_kretprobe(struct plumb_probe *probe, const struct plumb_function *function,
			   size_t n)
{
	static bool said;
	int err;

	err = probe->event = plumb_return_open(function, n, &probe->in_tracefs);
	if (err >= 0)
		return;
	probe->event = open_kprobe(function, true);
	if (probe->event < 0 || said)
		return;
	plumb_warn("kretprobes miss returns above 10 calls in flight, or 2 per CPU: "
		   "kprobe_events: %s",
		   plumb_errno_name(err));
	said = true;
}

void plumb_probe_allow_files(void)
{
	struct rlimit limit = {1 << 20, 1 << 20};

	if (!setrlimit(RLIMIT_NOFILE, &limit) || getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * The functions of the kernel's btf_id_deny, which came with 5.13 and grew.  Kernels whose list
 * lacks one of them, or that have no list, attach fentry to it and hang (6.1: __rcu_read_lock).
 */
bool plumb_function_serves_bpf(const char *name)
{
	static const char *const names[] = {
		"___migrate_enable", "migrate_disable",   "migrate_enable",
		"__rcu_read_lock",   "__rcu_read_unlock", "rcu_read_unlock_strict",
		"preempt_count_add", "preempt_count_sub",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static int attach_one(struct plumb_probes *probes, const struct bpf_object *object,
		      const struct plumb_attach_target *target, const struct plumb_functions *f,
		      size_t i)
{
	const struct plumb_function *function = &f->all[i];
	const struct bpf_program *p = bpf_object__find_program_by_name(object, target->program);
	enum plumb_hook hook = target->hook;
	struct plumb_probe probe = {.event = -1, .link = -1};
	int err = 0;

	if (plumb_hook_is_fentry(hook) && !function->btf_id)
		return -ENODATA;
	if (plumb_hook_is_fentry(hook) && plumb_function_serves_bpf(function->name))
		return -EDEADLK;
	if (plumb_hook_is_fentry(hook) && !strcmp(function->name, "bpf_get_smp_processor_id") &&
	    !plumb_fentry_is_guarded())
		return -EDEADLK; /* see guard.bpf.h */
	probe.program = plumb_probe_copy(probes, p, hook, function, plumb_probe_target(f, i));
	if (probe.program < 0)
		return probe.program;
	if (plumb_hook_is_fentry(hook)) {
		probe.link = bpf_raw_tracepoint_open(NULL, probe.program);
		err = probe.link < 0 ? -errno : 0;
	} else {
		if (hook == PLUMB_KRETPROBE)
			open_kretprobe(&probe, function, f->n);
		else
			probe.event = open_kprobe(function, false);
		err = probe.event < 0 ? probe.event : plumb_probe_attach_event(&probe, 0);
	}
	if (err)
		plumb_probe_drop(&probe);
	else
		plumb_probe_add(probes, &probe);
	return err;
}

/* Attaches function by function, to both ends of each or to none. */
static int attach_each(struct plumb_probes *probes, const struct bpf_object *object,
		       const struct plumb_attach_target *targets, const struct plumb_functions *f,
		       char *what, size_t size)
{
	int err, last = -ENOENT;
	char name[256];
	size_t before;

	/* After a signal, trace with the functions attached so far. */
	for (size_t i = 0; i < f->n && !(i && plumb_signals_pending()); i++) {
		plumb_progress("attaching", i, f->n);
		before = probes->n;
		err = 0;
		for (const struct plumb_attach_target *a = targets; a->hook && !err; a++)
			err = attach_one(probes, object, a, f, i);
		if (!err) {
			plumb_probe_note(probes, "k", plumb_probe_name(f, i, name, sizeof(name)));
			continue;
		}
		while (probes->n > before)
			plumb_probe_drop(&probes->list[--probes->n]);
		plumb_probe_refuse(probes, i, plumb_probe_name(f, i, what, size), err);
		last = err;
	}
	plumb_progress_end();
	return probes->n ? 0 : last;
}

static const char *name_function(const void *functions, size_t i, char *text, size_t size)
{
	return plumb_probe_name(functions, i, text, size);
}

/*
 * One fentry program for many takes only functions in the BTF of the kernel itself, not of modules.
 */
static bool can_be_one_of_many(const struct plumb_function *f, enum plumb_hook hook)
{
	return !plumb_hook_is_fentry(hook) || (f->btf_id && !f->btf_fd);
}

static int attach_at_once(struct plumb_probes *probes, const struct bpf_object *object,
			  const struct plumb_attach_target *targets,
			  const struct plumb_functions *f, char *what, size_t size)
{
	struct plumb_many m = {.what = f, .name = name_function};
	size_t n = 0;
	int err;

	plumb_many_make(&m, f->n);
	for (size_t i = 0; i < f->n; i++) {
		if (!can_be_one_of_many(&f->all[i], targets->hook)) {
			plumb_probe_refuse(probes, i, plumb_probe_name(f, i, what, size), ENODATA);
			continue;
		}
		m.addresses[n] = f->all[i].address;
		m.cookies[n] = plumb_probe_target(f, i);
		m.ids[n++] = f->all[i].btf_id;
	}
	err = n ? 0 : -ENODATA;
	for (const struct plumb_attach_target *a = targets; a->hook && !err; a++) {
		m.program = bpf_program__fd(bpf_object__find_program_by_name(object, a->program));
		m.hook = a->hook;
		plumb_progress_at_once("attaching", n);
		err = plumb_probe_attach_many(probes, &m, 0, n, what, size);
	}
	plumb_progress_end();
	plumb_many_free(&m);
	for (size_t i = 0; !err && i < f->n; i++)
		if (!plumb_probe_refusal(probes, i))
			plumb_probe_note(probes, "k", plumb_probe_name(f, i, what, size));
	return err;
}

int plumb_probe_attach(struct plumb_probes *probes, const struct bpf_object *object,
		       const struct plumb_attach_target *targets, const struct plumb_functions *f,
		       char *what, size_t size)
{
	uint64_t start = plumb_now();
	int err = plumb_allowed_functions(f, what, size);

	if (err)
		return err;
	plumb_probe_allow_files();
	if (plumb_hook_is_multi(targets->hook))
		err = attach_at_once(probes, object, targets, f, what, size);
	else
		err = attach_each(probes, object, targets, f, what, size);
	plumb_info("%zu functions attached to in %.3f s", f->n - probes->refused,
		   (plumb_now() - start) / 1e9);
	if (err)
		plumb_probe_close(probes);
	return err;
}
