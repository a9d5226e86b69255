/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lifecycle: the programs that every tool attaches in addition to its own.  A tool that keeps a
 * state of threads includes exit.bpf.h instead, or sched/return.bpf.h.
 */
#pragma once

#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/key/key.h>

/* Loaded if ids are filtered, or the descendants of a command. */
SEC("raw_tp/sched_process_fork")
int thread_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();

	filter_fork(task, (struct task_struct *)ctx->args[1]);
	return 0;
}

/* Loaded only if the descendants of a command are traced. */
SEC("raw_tp/sched_process_free")
int process_free(struct bpf_raw_tracepoint_args *ctx)
{
	filter_free((struct task_struct *)ctx->args[0]);
	return 0;
}

/*
 * The paths of cgroups that were removed, which nobody can ask for any more.  Loaded only
 * if a cgroup is part of what is reported.
 */
/* By id; the latest ones. */
PLUMB_MAP(plumb_cgroups_gone, LRU_HASH, 2048, __u64, char[PLUMB_CGROUP_PATH]);

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
