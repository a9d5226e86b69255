/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* samples: programs on software events of each CPU: at regular intervals, or at each event. */
#include "probe.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
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

static int attach_cpus(struct plumb_probes *probes, const struct bpf_object *object,
		       const char *program, const struct perf_event_attr *attr)
{
	int fd = bpf_program__fd(bpf_object__find_program_by_name(object, program));
	int err, cpus = libbpf_num_possible_cpus();
	size_t before = probes->n;

	for (int cpu = 0; cpu < cpus; cpu++) {
		err = attach_cpu(probes, fd, attr, cpu);
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
	int err;

	snprintf(what, size, "cpu-clock");
	err = attach_cpus(probes, object, program, &attr);
	return err == -EINVAL ? explain(hz, what, size) : err;
}

int plumb_probe_software_event(struct plumb_probes *probes, const struct bpf_object *object,
			       const char *program, uint64_t event)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = event,
		.sample_period = 1,
	};

	return attach_cpus(probes, object, program, &attr);
}
