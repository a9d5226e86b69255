/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe-targets: programs on tracepoints and user functions. */
#include "probe.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <plumb/bpf/function/function.h>
#include <plumb/attach/probe.h>
#include <stdio.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

const char *plumb_tracepoint_name(const struct plumb_tracepoint *t, char *text, size_t size)
{
	snprintf(text, size, "t:%s:%s", t->category, t->name);
	return text;
}

const char *plumb_userfunc_name(const struct plumb_userfuncs *u, size_t i, char *text, size_t size)
{
	snprintf(text, size, "u:%s:%s", u->path, u->list[i].name);
	return text;
}

/* Adds PROBE to the list, or releases it if ERR is not 0; returns the error. */
static int keep(struct plumb_probes *probes, struct plumb_probe *probe, int err)
{
	if (!err)
		err = plumb_probe_add(probes, probe);
	if (err)
		plumb_probe_drop(probe);
	return err;
}

static int attach_raw(struct plumb_probes *probes, const struct bpf_program *p, const char *name,
		      uint64_t target)
{
	struct plumb_probe probe = {.event = -1, .link = -1};

	probe.program = plumb_probe_copy(p, PLUMB_RAW_TRACEPOINT, NULL, target);
	if (probe.program < 0)
		return probe.program;
	probe.link = bpf_raw_tracepoint_open(name, probe.program);
	return keep(probes, &probe, probe.link < 0 ? -errno : 0);
}

/* Attaches a copy of P to the perf event EVENT, which it takes. */
static int attach_event(struct plumb_probes *probes, const struct bpf_program *p,
			enum plumb_hook hook, int event, uint64_t target)
{
	struct plumb_probe probe = {.program = -1, .event = event, .link = -1};

	if (event < 0)
		return event;
	probe.program = plumb_probe_copy(p, hook, NULL, target);
	if (probe.program < 0)
		return keep(probes, &probe, probe.program);
	return keep(probes, &probe, plumb_probe_attach_event(&probe));
}

static int open_tracepoint(uint32_t id)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
	};

	return plumb_probe_open_event(&attr, 0);
}

int plumb_probe_tracepoints(struct plumb_probes *probes, const struct bpf_object *object,
			    const char *raw, const char *perf, const struct plumb_tracepoints *t,
			    size_t first, char *what, size_t size)
{
	size_t before = probes->n;
	int err, last = 0;

	plumb_probe_allow_files();
	for (size_t i = 0; i < t->n; i++) {
		const struct plumb_tracepoint *one = &t->list[i];
		bool is_raw = raw && one->is_raw;
		const struct bpf_program *p =
			bpf_object__find_program_by_name(object, is_raw ? raw : perf);
		uint64_t target = PLUMB_TARGET(first + i, PLUMB_RESULT_NONE, 0);

		if (one->by_number)
			continue;
		err = is_raw ? attach_raw(probes, p, one->name, target)
			     : attach_event(probes, p, PLUMB_TRACEPOINT, open_tracepoint(one->id),
					    target);
		if (err)
			plumb_probe_refuse(probes, first + i,
					   plumb_tracepoint_name(one, what, size), err);
		last = err ?: last;
	}
	return probes->n > before ? 0 : last;
}

/* The functions of one file, whose numbers begin at FIRST. */
struct file {
	const struct plumb_userfuncs *functions;
	size_t first;
};

static const char *name_in_file(const void *what, size_t i, char *text, size_t size)
{
	const struct file *file = what;

	return plumb_userfunc_name(file->functions, i - file->first, text, size);
}

static int attach_at_once(struct plumb_probes *probes, const struct bpf_program *p,
			  const struct file *file, char *what, size_t size)
{
	const struct plumb_userfuncs *u = file->functions;
	struct plumb_many m = {
		.program = bpf_program__fd(p),
		.hook = PLUMB_UPROBE_MULTI,
		.path = u->path,
		.what = file,
		.name = name_in_file,
	};
	int err = plumb_many_make(&m, u->n);

	for (size_t i = 0; !err && i < u->n; i++) {
		m.addresses[i] = u->list[i].offset;
		m.cookies[i] = PLUMB_TARGET(file->first + i, PLUMB_RESULT_NONE, 0);
	}
	if (!err)
		err = plumb_probe_attach_many(probes, &m, 0, u->n, what, size);
	plumb_many_free(&m);
	return err;
}

int plumb_probe_userfuncs(struct plumb_probes *probes, const struct bpf_object *object,
			  const struct plumb_attach_target *target, const struct plumb_userfuncs *u,
			  size_t first, char *what, size_t size)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(object, target->program);
	size_t before = probes->n;
	int err, last = 0;

	/*
	 * Of uprobes, only 7.2 counts skipped executions, only for perf events, and that cannot be
	 * detected.
	 */
	probes->missed_unknown = true;
	if (target->hook == PLUMB_UPROBE_MULTI)
		return attach_at_once(probes, p, &(struct file){u, first}, what, size);
	plumb_probe_allow_files();
	for (size_t i = 0; i < u->n; i++) {
		int event = plumb_probe_open_pmu("uprobe", target->hook == PLUMB_URETPROBE,
						 (uintptr_t)u->path, u->list[i].offset);

		err = attach_event(probes, p, target->hook, event,
				   PLUMB_TARGET(first + i, PLUMB_RESULT_NONE, 0));
		if (err)
			plumb_probe_refuse(probes, first + i, plumb_userfunc_name(u, i, what, size),
					   err);
		last = err ?: last;
	}
	return probes->n > before ? 0 : last;
}
