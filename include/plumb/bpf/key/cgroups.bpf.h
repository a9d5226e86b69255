/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cgroups: the paths of cgroups that were removed, which nobody can ask for any more.  Loaded only
 * if a cgroup is part of what is reported.
 */
#ifndef PLUMB_CGROUPS_BPF_H
#define PLUMB_CGROUPS_BPF_H

#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/key/key.h>

/* By id; the latest ones. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 2048);
	__type(key, __u64);
	__type(value, char[PLUMB_CGROUP_PATH]);
} plumb_cgroups_gone SEC(".maps");

/* The kernel removes one cgroup at a time. */
static char plumb_cgroup_gone[PLUMB_CGROUP_PATH];

SEC("raw_tp/cgroup_rmdir")
int cgroup_removed(struct bpf_raw_tracepoint_args *ctx)
{
	const struct cgroup *cgroup = (const struct cgroup *)ctx->args[0];
	__u64 id;

	if (BPF_CORE_READ(cgroup, root, hierarchy_id)) /* of version 1, whose ids are others */
		return 0;
	id = BPF_CORE_READ(cgroup, kn, id);
	if (bpf_probe_read_kernel_str(plumb_cgroup_gone, sizeof(plumb_cgroup_gone),
				      (const void *)ctx->args[1]) > 0)
		bpf_map_update_elem(&plumb_cgroups_gone, &id, plumb_cgroup_gone, BPF_ANY);
	return 0;
}

#endif
