/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * samples: perf events on each CPU: a program that runs at regular intervals, or at each software
 * event; counters.
 */
#include "probe.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <plumb/attach/allowed.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/libbpf.h>

/*
 * Finds the cause of -EINVAL: HZ may exceed the kernel's limit, which the kernel lowers by itself
 * if samples take long.
 */
static int explain(uint64_t hz, char *what, size_t size)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	uint64_t most = hz;

	if (f && fscanf(f, "%" SCNu64, &most) != 1)
		most = hz;
	if (f)
		fclose(f);
	if (hz <= most)
		return -EINVAL;
	snprintf(what, size, "-F %" PRIu64 ": kernel.perf_event_max_sample_rate is %" PRIu64, hz,
		 most);
	return -ERANGE;
}

static int attach_cpu(struct plumb_probes *probes, int program, const struct perf_event_attr *attr,
		      int cpu)
{
	struct plumb_probe probe = {.program = -1, .event = -1, .link = -1};
	int err;

	probe.event = plumb_probe_open_event(attr, cpu);
	if (probe.event < 0)
		return probe.event;
	probe.program = dup(program);
	err = probe.program < 0 ? -errno : plumb_probe_attach_event(&probe, 0);
	if (!err)
		err = plumb_probe_add(probes, &probe);
	if (err)
		plumb_probe_drop(&probe);
	return err;
}

/* Attaches PROGRAM to an event of each CPU that is online. */
static int attach_cpus(struct plumb_probes *probes, int program, const struct perf_event_attr *attr)
{
	int err, cpus = libbpf_num_possible_cpus();
	size_t before = probes->n;

	plumb_probe_allow_files();
	for (int cpu = 0; cpu < cpus; cpu++) {
		err = attach_cpu(probes, program, attr, cpu);
		if (err && err != -ENODEV) /* the CPU is offline */
			return err;
	}
	return probes->n > before ? 0 : -ENODEV;
}

int plumb_probe_samples(struct plumb_probes *probes, const struct bpf_object *object,
			const char *program, uint64_t hz, char *what, size_t size)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = hz,
	};
	int err = plumb_allowed_name("sample", "cpu-clock", what, size);

	if (err)
		return err;
	snprintf(what, size, "cpu-clock");
	err = attach_cpus(
		probes, bpf_program__fd(bpf_object__find_program_by_name(object, program)), &attr);
	if (!err)
		plumb_probe_note(probes, "sample", "cpu-clock");
	return err == -EINVAL ? explain(hz, what, size) : err;
}

/* As perf has it. */
static const char *name_event(uint64_t event)
{
	static const char *const names[] = {
		[PERF_COUNT_SW_CPU_CLOCK] = "cpu-clock",
		[PERF_COUNT_SW_TASK_CLOCK] = "task-clock",
		[PERF_COUNT_SW_PAGE_FAULTS] = "page-faults",
		[PERF_COUNT_SW_CONTEXT_SWITCHES] = "context-switches",
		[PERF_COUNT_SW_CPU_MIGRATIONS] = "cpu-migrations",
		[PERF_COUNT_SW_PAGE_FAULTS_MIN] = "page-faults-min",
		[PERF_COUNT_SW_PAGE_FAULTS_MAJ] = "page-faults-maj",
		[PERF_COUNT_SW_ALIGNMENT_FAULTS] = "alignment-faults",
		[PERF_COUNT_SW_EMULATION_FAULTS] = "emulation-faults",
	};

	return event < sizeof(names) / sizeof(names[0]) && names[event] ? names[event] : "software";
}

int plumb_probe_software_event(struct plumb_probes *probes, const struct bpf_object *object,
			       const char *program, uint64_t event, const uint64_t *target)
{
	const struct bpf_program *p = bpf_object__find_program_by_name(object, program);
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = event,
		.sample_period = 1,
	};
	const char *name = name_event(event);
	char forbidden[64];
	int err = plumb_allowed_name("event", name, forbidden, sizeof(forbidden)), copy;

	if (err)
		return err;
	copy = target ? plumb_probe_copy(p, PLUMB_HOOK_NONE, NULL, *target) : -1;
	if (target && copy < 0)
		return copy;
	err = attach_cpus(probes, target ? copy : bpf_program__fd(p), &attr);
	if (target)
		close(copy);
	if (!err)
		plumb_probe_note(probes, "event", name);
	return err;
}

int plumb_counter_open(const struct perf_event_attr *attr, int cpu)
{
	plumb_probe_allow_files();
	return plumb_probe_open_event(attr, cpu);
}
