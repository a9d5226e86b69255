/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tracepoint: a program on the tracepoint that its section names. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <plumb/core/tracepoint.h>
#include <plumb/kernel/renamed.h>
#include <plumb/kernel/tracefs.h>

#include <bpf/libbpf.h>

int plumb_probe_open_event(const struct perf_event_attr *attr, int cpu)
{
	int fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int plumb_probe_open_tracepoint(uint32_t id)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
	};

	return plumb_probe_open_event(&attr, 0);
}

static int open_event_of(const struct bpf_program *p)
{
	char category[128], name[128];
	const char *other;
	uint32_t id;
	int tracefs, err;

	if (sscanf(bpf_program__section_name(p), "tp/%127[^/]/%127s", category, name) != 2)
		return -EINVAL;
	tracefs = plumb_tracefs_try();
	if (tracefs < 0)
		return plumb_tracefs_is_denied() ? -EACCES : tracefs;
	err = plumb_tracefs_id(tracefs, category, name, &id);
	for (size_t i = 0; err == -ENOENT && (other = plumb_other_name(name, i)); i++)
		err = plumb_tracefs_id(tracefs, category, other, &id);
	close(tracefs);
	return err ?: plumb_probe_open_tracepoint(id);
}

struct bpf_link *plumb_probe_attach_section(const struct bpf_program *p)
{
	struct bpf_link *link = bpf_program__attach(p);
	const char *name = strchrnul(bpf_program__section_name(p), '/'), *other;

	if (bpf_program__type(p) != BPF_PROG_TYPE_RAW_TRACEPOINT || !*name)
		return link;
	for (size_t i = 0; !link && errno == ENOENT && (other = plumb_other_name(name + 1, i)); i++)
		link = bpf_program__attach_raw_tracepoint(p, other);
	return link;
}

struct bpf_link *plumb_probe_attach_tracepoint(const struct bpf_program *p)
{
	int event = open_event_of(p);
	struct bpf_link *link;

	if (event < 0) {
		errno = -event;
		return NULL;
	}
	link = bpf_program__attach_perf_event(p, event);
	if (!link) {
		int err = errno;

		close(event);
		errno = err;
	}
	return link;
}
