/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe-targets: programs on tracepoints. */
#include <plumb/functions/probing.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <plumb/bpf/function/function.h>
#include <plumb/core/cli.h>
#include <plumb/functions/allowed-functions.h>
#include <plumb/functions/probe.h>
#include <plumb/terminal/progress.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

const char *plumb_tracepoint_name(const struct plumb_tracepoint *t, char *text, size_t size)
{
	snprintf(text, size, "t:%s:%s", t->category, t->name);
	return text;
}

/* Adds PROBE to the list, or releases it if ERR is not 0; returns the error. */
static int keep(struct plumb_probes *probes, struct plumb_probe *probe, int err)
{
	if (err)
		plumb_probe_drop(probe);
	else
		plumb_probe_add(probes, probe);
	return err;
}

static int attach_raw(struct plumb_probes *probes, const struct bpf_program *p, const char *name,
		      uint64_t target)
{
	struct plumb_probe probe = {.event = -1, .link = -1};

	probe.program = plumb_probe_copy(probes, p, PLUMB_RAW_TRACEPOINT, NULL, target);
	if (probe.program < 0)
		return probe.program;
	probe.link = bpf_raw_tracepoint_open(name, probe.program);
	return keep(probes, &probe, probe.link < 0 ? -errno : 0);
}

int plumb_probe_on_event(struct plumb_probes *probes, const struct bpf_program *p,
			 enum plumb_hook hook, int event, uint64_t target)
{
	struct plumb_probe probe = {.program = -1, .event = event, .link = -1};

	if (event < 0)
		return event;
	if (probes->with_cookies)
		probe.program = fcntl(bpf_program__fd(p), F_DUPFD_CLOEXEC, 0);
	else
		probe.program = plumb_probe_copy(probes, p, hook, NULL, target);
	if (probe.program < 0)
		return keep(probes, &probe, probes->with_cookies ? -errno : probe.program);
	return keep(probes, &probe, plumb_probe_attach_event(&probe, target));
}

int plumb_probe_tracepoints(struct plumb_probes *probes, const struct bpf_object *object,
			    const char *raw, const char *perf, const struct plumb_tracepoints *t,
			    size_t first, char *what, size_t size)
{
	size_t before = probes->n;
	int err = plumb_allowed_tracepoints(t, what, size), last = 0;
	char name[256];

	if (err)
		return err;
	plumb_probe_allow_files();
	/* After a signal, trace with what is attached so far. */
	for (size_t i = 0; i < t->n && !(probes->n && plumb_signals_pending()); i++) {
		const struct plumb_tracepoint *one = &t->list[i];
		bool is_raw = raw && one->is_raw;
		const struct bpf_program *p =
			bpf_object__find_program_by_name(object, is_raw ? raw : perf);
		uint64_t target = PLUMB_TARGET(first + i, PLUMB_RESULT_NONE, 0);

		plumb_progress("attaching", i, t->n);
		snprintf(name, sizeof(name), "%s:%s", one->category, one->name);
		if (one->by_number) {
			plumb_probe_note(probes, "t", name);
			continue;
		}
		err = is_raw ? attach_raw(probes, p, one->name, target)
			     : plumb_probe_on_event(probes, p, PLUMB_TRACEPOINT,
						    plumb_probe_open_tracepoint(one->id), target);
		if (err)
			plumb_probe_refuse(probes, first + i,
					   plumb_tracepoint_name(one, what, size), err);
		else
			plumb_probe_note(probes, "t", name);
		last = err ?: last;
	}
	plumb_progress_end();
	return probes->n > before ? 0 : last;
}
