/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* probe: executions that the kernel skipped. */
#include "probe.h"

#include <stddef.h>

#include <bpf/bpf.h>

/* As much of struct bpf_link_info as tells misses. */
struct link_info {
	__u32 type, id, program, pad;
	union {
		struct {
			__u32 kind, pad;
			__u64 name;
			__u32 name_length, offset;
			__u64 address, missed;
		} perf_event;
		struct {
			__u64 addresses;
			__u32 n, flags;
			__u64 missed;
		} kprobe_multi;
		__u64 rest[16];
	};
};

bool plumb_link_missed(int link, uint64_t *missed)
{
	enum { KPROBE_MULTI_LINK = 8, PERF_EVENT_LINK = 7 }; /* enum bpf_link_type */
	struct link_info info = {};
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(link, &info, &size))
		return false;
	if (info.type == KPROBE_MULTI_LINK)
		*missed += info.kprobe_multi.missed;
	else if (info.type == PERF_EVENT_LINK)
		*missed += info.perf_event.missed;
	return true;
}

bool plumb_program_missed(int program, uint64_t *missed)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	/* An older kernel fills in less (5.12 is the first to tell). */
	if (bpf_obj_get_info_by_fd(program, &info, &size) ||
	    size < offsetof(struct bpf_prog_info, recursion_misses) + sizeof(__u64))
		return false;
	*missed += info.recursion_misses;
	return true;
}

bool plumb_probe_missed(const struct plumb_probes *probes, uint64_t *missed)
{
	bool known = !probes->missed_unknown;

	*missed += probes->missed;
	for (size_t i = 0; i < probes->n; i++) {
		const struct plumb_probe *probe = &probes->list[i];

		if (probe->program >= 0 && !plumb_program_missed(probe->program, missed))
			known = false;
		if (probe->link >= 0 && !plumb_link_missed(probe->link, missed))
			known = false;
	}
	return known;
}
