/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * samples: perf events on each CPU: a program that runs at regular intervals, or at each software
 * event; counters.
 */
#include <plumb/functions/probing.h>

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <plumb/core/cpus.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/privileges.h>
#include <plumb/core/reasons.h>
#include <plumb/guard/allowed.h>

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
	if (err)
		plumb_probe_drop(&probe);
	else
		plumb_probe_add(probes, &probe);
	return err;
}

/* An event of each CPU, and its number in the list of probes; none if it is offline. */
struct plumb_each_cpu {
	struct perf_event_attr attr;
	int program;
	size_t *probes;
};

#define NONE SIZE_MAX

static struct plumb_each_cpu *add_each_cpu(struct plumb_probes *probes, int program,
					   const struct perf_event_attr *attr, int cpus)
{
	struct plumb_each_cpu *e = plumb_append(probes->each_cpu, probes->n_each_cpu);

	plumb_probe_own(probes);
	*e = (struct plumb_each_cpu){*attr, dup(program), plumb_zeroed(cpus, sizeof(*e->probes))};
	for (int cpu = 0; cpu < cpus; cpu++)
		e->probes[cpu] = NONE;
	return e;
}

/* Attaches PROGRAM to an event of each CPU that is online. */
static int attach_cpus(struct plumb_probes *probes, int program, const struct perf_event_attr *attr)
{
	int err, cpus = libbpf_num_possible_cpus();
	struct plumb_each_cpu *e = add_each_cpu(probes, program, attr, cpus);
	size_t before = probes->n;

	if (e->program < 0)
		return -EMFILE;
	plumb_cpus_begin();
	plumb_probe_allow_files();
	for (int cpu = 0; cpu < cpus; cpu++) {
		err = attach_cpu(probes, program, attr, cpu);
		if (err && err != -ENODEV) /* the CPU is offline */
			return err;
		if (!err)
			e->probes[cpu] = probes->n - 1;
	}
	return probes->n > before ? 0 : -ENODEV;
}

/* Opens the event on a CPU where it is not, in the place of one that the CPU had before. */
static void attach_again(struct plumb_probes *probes, struct plumb_each_cpu *e, int cpu)
{
	struct plumb_probe probe = {.program = -1, .event = -1, .link = -1};

	probe.event = plumb_probe_open_event(&e->attr, cpu);
	if (probe.event == -ENODEV)
		return; /* it is offline */
	/* Not by a link, which would take bpf(2). */
	if (probe.event < 0 || ioctl(probe.event, PERF_EVENT_IOC_SET_BPF, e->program) ||
	    ioctl(probe.event, PERF_EVENT_IOC_ENABLE, 0)) {
		plumb_warn("CPU %d came online: cannot open an event: %s", cpu,
			   plumb_errno_name(probe.event < 0 ? probe.event : -errno));
		plumb_probe_drop(&probe);
		return;
	}
	plumb_probe_add(probes, &probe);
	e->probes[cpu] = probes->n - 1;
	plumb_info("CPU %d is online: an event is opened on it", cpu);
}

void plumb_probe_look_at_cpus(struct plumb_probes *probes)
{
	const int cpus = libbpf_num_possible_cpus();

	if (!probes->n_each_cpu || !plumb_cpus_look())
		return;
	for (int cpu = 0; cpu < cpus; cpu++) {
		const bool left = plumb_cpus_take_left(cpu);

		for (size_t i = 0; i < probes->n_each_cpu; i++) {
			struct plumb_each_cpu *e = &probes->each_cpu[i];

			if (left && e->probes[cpu] != NONE) {
				plumb_probe_drop(&probes->list[e->probes[cpu]]);
				e->probes[cpu] = NONE;
			}
			if (e->probes[cpu] == NONE)
				attach_again(probes, e, cpu);
		}
	}
}

static bool can_open(void *attr)
{
	int fd = -ENODEV;

	for (int cpu = 0; cpu < libbpf_num_possible_cpus() && fd == -ENODEV; cpu++)
		fd = plumb_probe_open_event(attr, cpu);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void plumb_probe_retain_cpus(const struct plumb_probes *probes)
{
	const uint64_t perfmon = PLUMB_CAP(PERFMON), admin = PLUMB_CAP(SYS_ADMIN);
	struct perf_event_attr *attr = probes->n_each_cpu ? &probes->each_cpu->attr : NULL;
	uint64_t needed;

	if (!attr || !plumb_cpus_can_leave())
		return;
	/* CAP_SYS_ADMIN includes CAP_PERFMON. */
	needed = perfmon;
	if (plumb_can_without(perfmon | admin, can_open, attr))
		needed = 0;
	else if (!plumb_can_without(admin, can_open, attr))
		needed = admin;
	plumb_retain(needed, PLUMB_CALLS_EVENTS, "events of CPUs that come online");
}

void plumb_probe_forget_cpus(struct plumb_probes *probes)
{
	for (size_t i = 0; i < probes->n_each_cpu; i++) {
		close(probes->each_cpu[i].program);
		free(probes->each_cpu[i].probes);
	}
	free(probes->each_cpu);
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
	copy = target ? plumb_probe_copy(probes, p, PLUMB_HOOK_NONE, NULL, *target) : -1;
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
