/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe: one program on many functions, by one link. */
#include <plumb/functions/probing.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <plumb/bpf/function/function.h>
#include <plumb/core/memory.h>

#include <bpf/bpf.h>

/* include/uapi/linux/bpf.h: BPF_F_UPROBE_MULTI_RETURN, which older headers lack. */
#define UPROBE_MULTI_RETURN 1

/* The attributes of BPF_LINK_CREATE for many functions, the same in all kernels that have them. */
struct link_create {
	__u32 program, target, attach_type, flags;
	union {
		struct {
			__u32 flags, n;
			__u64 symbols, addresses, cookies;
		} kprobe;
		struct {
			__u64 ids, cookies;
			__u32 n;
		} tracing;
		struct {
			__u64 path, offsets, counters, cookies;
			__u32 n, flags, pid;
		} uprobe;
	};
};

void plumb_many_make(struct plumb_many *m, size_t n)
{
	m->addresses = plumb_zeroed(n, sizeof(*m->addresses));
	m->semaphores = plumb_zeroed(n, sizeof(*m->semaphores));
	m->cookies = plumb_zeroed(n, sizeof(*m->cookies));
	m->ids = plumb_zeroed(n, sizeof(*m->ids));
}

void plumb_many_free(struct plumb_many *m)
{
	free(m->addresses);
	free(m->semaphores);
	free(m->cookies);
	free(m->ids);
}

static int link_many(const struct plumb_many *m, size_t from, size_t to)
{
	struct link_create attr = {
		.program = m->program,
		.attach_type = plumb_hook_attach_type(m->hook),
	};
	int fd;

	if (plumb_hook_is_fentry(m->hook)) {
		attr.tracing.n = to - from;
		attr.tracing.ids = (uintptr_t)(m->ids + from);
		attr.tracing.cookies = (uintptr_t)(m->cookies + from);
	} else if (m->hook >= PLUMB_UPROBE_MULTI) {
		attr.uprobe.n = to - from;
		attr.uprobe.flags = m->hook == PLUMB_URETPROBE_MULTI ? UPROBE_MULTI_RETURN : 0;
		attr.uprobe.pid = m->process;
		attr.uprobe.path = (uintptr_t)m->path;
		attr.uprobe.offsets = (uintptr_t)(m->addresses + from);
		attr.uprobe.counters = (uintptr_t)(m->semaphores + from);
		attr.uprobe.cookies = (uintptr_t)(m->cookies + from);
	} else {
		attr.kprobe.n = to - from;
		attr.kprobe.flags =
			m->hook == PLUMB_KRETPROBE_MULTI ? BPF_F_KPROBE_MULTI_RETURN : 0;
		attr.kprobe.addresses = (uintptr_t)(m->addresses + from);
		attr.kprobe.cookies = (uintptr_t)(m->cookies + from);
	}
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

int plumb_probe_attach_many(struct plumb_probes *probes, const struct plumb_many *m, size_t from,
			    size_t to, char *what, size_t size)
{
	struct plumb_probe probe = {.program = -1, .event = -1, .link = link_many(m, from, to)};
	size_t middle = from + (to - from) / 2, target;
	int first, second;

	if (probe.link >= 0) {
		plumb_probe_add(probes, &probe);
		return 0;
	}
	target = PLUMB_TARGET_INDEX(m->cookies[from]);
	m->name(m->what, target, what, size);
	if (to - from == 1) {
		plumb_probe_refuse(probes, target, what, probe.link);
		return probe.link;
	}
	/* Errors that are not due to a single function. */
	if (probe.link == -EPERM || probe.link == -EOPNOTSUPP || probe.link == -ENOMEM)
		return probe.link;
	first = plumb_probe_attach_many(probes, m, from, middle, what, size);
	second = plumb_probe_attach_many(probes, m, middle, to, what, size);
	return first && second ? first : 0;
}
