/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe: perf events, to which kprobes, uprobes and tracepoints are attached one by one. */
#include <plumb/functions/probing.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
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

/* Returns the first bit in attr.config of FIELD of PMU; or -errno. */
static int read_field(const char *pmu, const char *field)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/format/%s", pmu, field);
	return read_number(path, "config:%d");
}

/* Returns its number in attr.type; or -errno, -ENODEV: the kernel has no such PMU. */
static int read_type(const char *pmu)
{
	char path[128];
	int number;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	number = read_number(path, "%d");
	return number == -ENOENT ? -ENODEV : number;
}

bool plumb_probe_has_pmu(const char *pmu)
{
	return read_type(pmu) != -ENODEV;
}

static int open_pmu(const char *pmu, bool at_return, struct perf_event_attr *attr)
{
	int number = read_type(pmu);

	if (number < 0)
		return number;
	attr->size = sizeof(*attr);
	attr->type = number;
	if (at_return) {
		number = read_field(pmu, "retprobe");
		if (number < 0)
			return number;
		attr->config |= 1ULL << number;
	}
	return plumb_probe_open_event(attr, 0);
}

int plumb_probe_open_pmu(const char *pmu, bool at_return, uint64_t config1, uint64_t config2)
{
	struct perf_event_attr attr = {.config1 = config1, .config2 = config2};

	return open_pmu(pmu, at_return, &attr);
}

int plumb_probe_open_uprobe(const char *path, bool at_return, uint64_t offset, uint64_t semaphore)
{
	struct perf_event_attr attr = {.config1 = (uintptr_t)path, .config2 = offset};
	int number;

	if (semaphore) {
		number = read_field("uprobe", "ref_ctr_offset");
		if (number < 0)
			return number;
		attr.config = semaphore << number;
		if (attr.config >> number != semaphore)
			return -EFBIG;
	}
	return open_pmu("uprobe", at_return, &attr);
}

int plumb_probe_attach_event(struct plumb_probe *probe, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);

	probe->link = bpf_link_create(probe->program, probe->event, BPF_PERF_EVENT, &opts);
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
