/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * filter, BPF side: the filters by thread.
 *
 * filter_thread() checks properties that cannot change during a call (pid, tid), so it may be
 * called at entry and exit; filter_entry() checks the others, and whether the trace is over, at
 * entry only.  All programs that record call it.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/core/ledger.bpf.h>

PLUMB_MAP(plumb_cgroups, CGROUP_ARRAY, PLUMB_MAX_LIST, __u32, __u32);

/*
 * tgids of the command, or of the processes of -p --follow, and of their descendants, with the
 * start time of each process (ns, task_struct.start_time), which distinguishes it from later
 * processes of its pid; 0 for those that were there before.
 */
PLUMB_MAP(plumb_descendants, HASH, 16384, __u32, __u64);

/* True if threads are filtered by id: then it is cheaper to check the id first, at exit too. */
static __always_inline bool filter_by_id(void)
{
	return plumb_config.npids || plumb_config.ntids;
}

/*
 * Not 0 for the entries of config's lists of ids whose process or thread has ended, and whose id
 * another one has now, which is not traced.
 */
__u32 plumb_pids_reused[PLUMB_MAX_LIST] = {}, plumb_tids_reused[PLUMB_MAX_LIST] = {};

static __always_inline bool filter_lists_pid(__u32 pid)
{
	__u32 i;

	for (i = 0; i < PLUMB_MAX_LIST && i < plumb_config.npids; i++)
		if (plumb_config.pids[i] == pid)
			return !plumb_pids_reused[i];
	return false;
}

static __always_inline bool filter_lists_tid(__u32 tid)
{
	__u32 i;

	for (i = 0; i < PLUMB_MAX_LIST && i < plumb_config.ntids; i++)
		if (plumb_config.tids[i] == tid)
			return !plumb_tids_reused[i];
	return false;
}

static __always_inline bool filter_ids(struct task_struct *task)
{
	return (!plumb_config.npids || filter_lists_pid(current_pid(task))) &&
	       (!plumb_config.ntids || filter_lists_tid(current_tid(task)));
}

/* With a list of ids, the tool itself need not be excluded. */
static __always_inline bool filter_thread(struct task_struct *task)
{
	if (unlikely(filter_by_id()))
		return filter_ids(task);
	return !plumb_config.self || current_pid(task) != plumb_config.self;
}

static __always_inline bool filter_by_comm(void)
{
	return plumb_config.ncomms || plumb_config.globs.n;
}

/*
 * The thread that was rejected last on each CPU.  Nearly always the exit of that call is the next
 * event there, which then need not be filtered again.
 */
struct plumb_rejected {
	__u64 regs;
	__u64 epoch;
	__u64 pad[6];
};
_Static_assert(sizeof(struct plumb_rejected) == 64, "one cache line a CPU");

PLUMB_MAP(plumb_rejected, ARRAY, 1 /* set by the loader: possible CPUs */, __u32,
	  struct plumb_rejected);

/* True if a filter can reject all calls of a thread. */
static __always_inline bool filter_rejects_threads(void)
{
	return filter_by_id() || filter_by_comm() || plumb_config.descendants ||
	       plumb_config.ncgroups;
}

static __always_inline void filter_remember_rejected(const struct pt_regs *regs)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_rejected *last;

	if (!filter_rejects_threads())
		return;
	last = bpf_map_lookup_elem(&plumb_rejected, &cpu);
	if (last) {
		last->regs = (__u64)regs;
		last->epoch = plumb_epoch;
	}
}

/*
 * Ids never change.  Renaming a thread, or moving it to another cgroup, increments plumb_epoch.  If
 * another thread's rename is in progress, a rejection under the old name may survive it: the exit
 * of a later call is then ignored if that call also changed its CPU, and the thread's next call
 * counts it as exit lost.
 */
static __always_inline bool filter_was_rejected(const struct pt_regs *regs)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_rejected *last;

	if (!filter_rejects_threads())
		return false;
	last = bpf_map_lookup_elem(&plumb_rejected, &cpu);
	return last && last->regs == (__u64)regs && last->epoch == plumb_epoch;
}

/* Not inlined, because most runs do not call it. */
static __noinline bool filter_globs(__u64 a, __u64 b)
{
	return plumb_globs_match(&plumb_config.globs, a, b);
}

static __always_inline bool filter_comm(const __u64 comm[2])
{
	__u32 i;

	for (i = 0; i < PLUMB_MAX_LIST && i < plumb_config.ncomms; i++) {
		const volatile __u64 *want = (const volatile __u64 *)plumb_config.comms[i];

		if (want[0] == comm[0] && want[1] == comm[1])
			return true;
	}
	return plumb_config.globs.n && filter_globs(comm[0], comm[1]);
}

static __always_inline bool filter_cgroup(void)
{
	__u32 i;

	for (i = 0; i < PLUMB_MAX_LIST && i < plumb_config.ncgroups; i++)
		if (bpf_current_task_under_cgroup(&plumb_cgroups, i) == 1)
			return true;
	return false;
}

static __always_inline bool filter_is_over(void)
{
	return unlikely(plumb_config.limited) && bpf_ktime_get_boot_ns() >= plumb_deadline;
}

/*
 * For a thread that filter_entry() rejects: true if it may have taken it under another name, or in
 * another cgroup.
 */
static __always_inline bool filter_may_have_lost(void)
{
	return (filter_by_comm() || plumb_config.ncgroups) && !filter_is_over();
}

static __always_inline bool filter_besides_comm(struct task_struct *task)
{
	__u32 pid;

	if (filter_is_over())
		return false;
	if (unlikely(plumb_config.descendants)) {
		pid = current_pid(task);
		if (!bpf_map_lookup_elem(&plumb_descendants, &pid))
			return false;
	}
	return !unlikely(plumb_config.ncgroups) || filter_cgroup();
}

/* Not inlined: the name would take room on the stack of its caller, also where it is not needed. */
static __noinline bool filter_own_comm(void)
{
	__u64 comm[2] = {};

	bpf_get_current_comm(comm, sizeof(comm));
	return filter_comm(comm);
}

static __always_inline bool filter_entry(struct task_struct *task)
{
	if (unlikely(filter_by_comm()) && !filter_own_comm())
		return false;
	return filter_besides_comm(task);
}

/* The same, as if the name of the current thread were COMM. */
static __always_inline bool filter_entry_as(struct task_struct *task, const __u64 comm[2])
{
	return (!filter_by_comm() || filter_comm(comm)) && filter_besides_comm(task);
}

/* What the lists name was there before: a new process or thread of its id is another one. */
static __always_inline void filter_reused(__u32 pid, __u32 tid)
{
	__u32 i;

	for (i = 0; i < PLUMB_MAX_LIST && i < plumb_config.npids; i++)
		if (plumb_config.pids[i] == tid && pid == tid)
			plumb_pids_reused[i] = 1;
	for (i = 0; i < PLUMB_MAX_LIST && i < plumb_config.ntids; i++)
		if (plumb_config.tids[i] == tid)
			plumb_tids_reused[i] = 1;
}

/*
 * At sched_process_fork, before the child runs; the current task is the parent.  Adds a child of a
 * descendant.  New threads are not added, since their tgid is in the map already.
 */
static __always_inline void filter_fork(struct task_struct *task, struct task_struct *child)
{
	__u32 parent = current_pid(task), pid = task_pid(child), tid = task_tid(child);
	__u64 began = BPF_CORE_READ(child, start_time);

	filter_reused(pid, tid);
	if (!plumb_config.descendants || pid != tid)
		return;
	if (!bpf_map_lookup_elem(&plumb_descendants, &parent))
		bpf_map_delete_elem(&plumb_descendants, &pid); /* left by an earlier process */
	else if (bpf_map_update_elem(&plumb_descendants, &pid, &began, BPF_ANY))
		ledger_count(bpf_get_smp_processor_id(), untracked);
}

/*
 * Removes a process when the kernel frees its first thread, which is freed last.  Not at
 * sched_process_exit: a process does much after it, and it may itself be traced.  In another pid
 * namespace than the host's it has no number any more: its entry stays until that is used again.
 */
static __always_inline void filter_free(struct task_struct *task)
{
	__u32 pid = task_pid(task);
	__u64 *began;

	if (pid != task_tid(task))
		return;
	began = bpf_map_lookup_elem(&plumb_descendants, &pid);
	if (began && (!*began || *began == BPF_CORE_READ(task, start_time)))
		bpf_map_delete_elem(&plumb_descendants, &pid);
}
