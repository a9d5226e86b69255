/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe: perf events, to which kprobes, uprobes and tracepoints are attached one by one. */
#include "probe.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

/* Reads a number from a file of sysfs; or -errno. */
static int read_number(const char *path, const char *format)
{
	FILE *f = fopen(path, "re");
	int number = -EINVAL;

	if (!f)
		return -errno;
	if (fscanf(f, format, &number) != 1)
		number = -EINVAL;
	fclose(f);
	return number;
}

int plumb_probe_open_event(const struct perf_event_attr *attr, int cpu)
{
	int fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int plumb_probe_open_pmu(const char *pmu, bool at_return, uint64_t config1, uint64_t config2)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config1 = config1,
		.config2 = config2,
	};
	char path[128];
	int number;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	number = read_number(path, "%d");
	if (number < 0)
		return number == -ENOENT ? -ENODEV : number;
	attr.type = number;
	if (at_return) {
		snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/format/retprobe",
			 pmu);
		number = read_number(path, "config:%d");
		if (number < 0)
			return number;
		attr.config = 1ULL << number;
	}
	return plumb_probe_open_event(&attr, 0);
}

int plumb_probe_attach_event(struct plumb_probe *probe)
{
	probe->link = bpf_link_create(probe->program, probe->event, BPF_PERF_EVENT, NULL);
	if (probe->link >= 0) {
		close(probe->event); /* the link holds it */
		probe->event = -1;
		return 0;
	}
	/* Before 5.15 there is no such link. */
	if (ioctl(probe->event, PERF_EVENT_IOC_SET_BPF, probe->program) ||
	    ioctl(probe->event, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	return 0;
}
