/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * meanwhile, BPF side: what happened on a CPU while a thread waited for it, summed by time: which
 * threads had the CPU, how long it was idle, how long the quota of the thread's cgroup was used up.
 * The loader's part of that name sets plumb_config.meanwhile, and reads the sums.
 *
 * A tool defines SCHED_MEANWHILE before it includes sched.bpf.h, unless it defines SCHED_WAKERS;
 * and MEANWHILE_ADD if it has sums of its own, in place of these or besides.
 */
#pragma once

#include <plumb/bpf/sched/return.h>
#include <plumb/bpf/sched/sched.bpf.h>
#include <plumb/bpf/sched/turns.bpf.h>

/* The loader sets the sizes, if they are needed. */
PLUMB_MAP(plumb_meanwhile_paths, HASH, 1, __u64, struct plumb_meanwhile_path);

/* Too large for the stack. */
struct meanwhile_scratch {
	struct plumb_meanwhile key;
	__u64 waiter; /* the thread whose wait is told, by its task */
};
PLUMB_MAP(plumb_meanwhile_new, PERCPU_ARRAY, 1, __u32, struct plumb_meanwhile_path);
PLUMB_MAP(plumb_meanwhile_scratch, PERCPU_ARRAY, 1, __u32, struct meanwhile_scratch);

static __always_inline struct meanwhile_scratch *meanwhile_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&plumb_meanwhile_scratch, &zero);
}

/* A key that is zeroed, which is that of the kind unknown. */
static __always_inline struct plumb_meanwhile *meanwhile_key(void)
{
	struct meanwhile_scratch *scratch = meanwhile_scratch();

	if (!scratch)
		return NULL;
	__builtin_memset(&scratch->key, 0, sizeof(scratch->key));
	return &scratch->key;
}

static __always_inline __u64 meanwhile_waiter(void)
{
	struct meanwhile_scratch *scratch = meanwhile_scratch();

	return scratch ? scratch->waiter : 0;
}

/* Adds NS to the sum of KEY, which may be overwritten. */
static __always_inline void meanwhile_add(struct plumb_meanwhile *key, __u64 ns);

PLUMB_MAP(plumb_meanwhile, HASH, 1, struct plumb_meanwhile, struct plumb_meanwhile_sum);

static __always_inline void meanwhile_sum(struct plumb_meanwhile *key, __u64 ns)
{
	const struct plumb_meanwhile_sum none = {};
	struct plumb_meanwhile_sum *sum = bpf_map_lookup_elem(&plumb_meanwhile, key);

	if (!sum) {
		bpf_map_update_elem(&plumb_meanwhile, key, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&plumb_meanwhile, key);
	}
	/* There is no room; of this one the loader has made some. */
	if (!sum && key->kind != PLUMB_MEANWHILE_WAITER) {
		__builtin_memset(key, 0, sizeof(*key));
		sum = bpf_map_lookup_elem(&plumb_meanwhile, key);
	}
	if (!sum)
		return;
	atomic_add(&sum->ns, ns);
	atomic_add(&sum->count, 1);
}

#ifndef MEANWHILE_ADD
static __always_inline void meanwhile_add(struct plumb_meanwhile *key, __u64 ns)
{
	meanwhile_sum(key, ns);
}
#endif

/* Renamed in 6.15. */
struct kernfs_node___old {
	struct kernfs_node *parent;
} __attribute__((preserve_access_index));
struct kernfs_node___new {
	struct kernfs_node *__parent;
} __attribute__((preserve_access_index));

static __always_inline struct kernfs_node *node_above(struct kernfs_node *node)
{
	struct kernfs_node___new *new = (void *)node;

	if (bpf_core_field_exists(new->__parent))
		return BPF_CORE_READ(new, __parent);
	return BPF_CORE_READ((struct kernfs_node___old *)node, parent);
}

/*
 * Keeps the path of cgroup ID, whose node is at ADDRESS: nobody can ask for it once the cgroup has
 * been removed.  Not inlined: the stack of its caller would be too large for the verifier of 5.10.
 */
__noinline int meanwhile_keep_path(__u64 address, __u64 id)
{
	struct kernfs_node *node = (struct kernfs_node *)address;
	struct plumb_meanwhile_path *path;
	__u32 zero = 0, i;

	if (bpf_map_lookup_elem(&plumb_meanwhile_paths, &id))
		return 0;
	path = bpf_map_lookup_elem(&plumb_meanwhile_new, &zero);
	if (!path)
		return 0;
	for (i = 0; i < PLUMB_MEANWHILE_DEPTH; i++) {
		path->names[i][0] = 0;
		if (node)
			bpf_probe_read_kernel_str(path->names[i], PLUMB_MEANWHILE_NAME,
						  BPF_CORE_READ(node, name));
		node = node ? node_above(node) : NULL;
	}
	path->cut = node && node_above(node);
	bpf_map_update_elem(&plumb_meanwhile_paths, &id, path, BPF_ANY);
	return 0;
}

/* For NS, the waiter could not run: the quota of GROUP was used up. */
__noinline int meanwhile_quota(__u64 group, __u64 ns)
{
	struct plumb_meanwhile *key = meanwhile_key();
	struct task_group *tg = (struct task_group *)group;
	struct kernfs_node *node = BPF_CORE_READ(tg, css.cgroup, kn);

	if (!key)
		return 0;
	key->kind = PLUMB_MEANWHILE_QUOTA;
	if (bpf_core_field_exists(tg->cfs_bandwidth.quota)) {
		bpf_core_read(&key->quota, sizeof(key->quota), &tg->cfs_bandwidth.quota);
		bpf_core_read(&key->period, sizeof(key->period), &tg->cfs_bandwidth.period);
	}
	bpf_core_read(&key->cgroup, sizeof(key->cgroup), &node->id);
	meanwhile_keep_path((__u64)node, key->cgroup);
	meanwhile_add(key, ns);
	return 0;
}

/* The thread of KEY, which may use N CPUs, had CPU. */
static __always_inline void meanwhile_allowed(struct plumb_meanwhile *key, __u32 n, __u32 cpu)
{
	key->n_allowed = n;
	key->cpu = n == 1 ? cpu : 0;
}

/* For NS, turn INDEX of CPU was in progress, or unknown ones. */
__noinline int meanwhile_turn(__u32 cpu, __u32 index, __u64 ns)
{
	struct sched_turns *turns = bpf_map_lookup_elem(&plumb_turns, &cpu);
	struct plumb_meanwhile *key = meanwhile_key();
	struct sched_turn *turn;

	if (!key)
		return 0;
	if (turns && index < SCHED_TURNS) {
		turn = &turns->all[index];
		key->kind = turn->tid ? PLUMB_MEANWHILE_THREAD : PLUMB_MEANWHILE_IDLE;
		if (turn->tid) {
			key->pid = turn->pid;
			key->tid = turn->tid;
			key->nice = turn->nice;
			key->policy = turn->policy;
			key->priority = turn->priority;
			meanwhile_allowed(key, turn->n_allowed, cpu);
			__builtin_memcpy(key->comm, turn->comm, sizeof(key->comm));
			name_trim((__u64 *)key->comm, 2);
		}
	}
	meanwhile_add(key, ns);
	return 0;
}

/* One variable for all that is read: each takes room on the stack, which is short here on 5.10. */
static __always_inline void meanwhile_of_task(struct plumb_meanwhile *key, struct task_struct *task)
{
	__u32 read = 0;

	key->pid = task_pid(task);
	key->tid = task_tid(task);
	bpf_core_read(&read, sizeof(read), &task->static_prio);
	key->nice = read - DEFAULT_PRIO;
	bpf_core_read(&read, sizeof(read), &task->prio);
	if (read < MAX_RT_PRIO)
		key->nice = PLUMB_REALTIME;
	bpf_core_read(&read, sizeof(read), &task->policy);
	key->policy = read;
	bpf_core_read(&read, sizeof(read), &task->rt_priority);
	key->priority = read;
	bpf_core_read(key->comm, sizeof(key->comm), &task->comm);
	name_trim((__u64 *)key->comm, 2);
}

/*
 * For NS, CPU was as it is now, and the waiter has got another one since.  THROTTLED: those of its
 * groups that were when the turn there began.
 */
__noinline int meanwhile_at_last(__u32 cpu, __u64 ns, __u32 throttled)
{
	struct sched_turns *turns = bpf_map_lookup_elem(&plumb_turns, &cpu);
	struct plumb_meanwhile *key = meanwhile_key();
	struct sched_stay *stay = sched_stay(cpu);
	struct task_struct *task;

	if (throttled && turns)
		return meanwhile_quota(*sched_group_at(turns, sched_lowest(throttled)), ns);
	if (!key)
		return 0;
	if (stay && stay->task && stay->task != meanwhile_waiter()) {
		task = (struct task_struct *)stay->task;
		key->kind = PLUMB_MEANWHILE_IDLE;
		if (BPF_CORE_READ(task, pid)) {
			key->kind = PLUMB_MEANWHILE_THREAD;
			meanwhile_of_task(key, task);
			meanwhile_allowed(key, BPF_CORE_READ(task, nr_cpus_allowed), cpu);
		}
	}
	meanwhile_add(key, ns);
	return 0;
}

/* The waiter of meanwhile_wait_of() has waited for NS. */
__noinline int meanwhile_waited(__u64 ns)
{
	struct task_struct *task = (struct task_struct *)meanwhile_waiter();
	struct plumb_meanwhile *key = meanwhile_key();
	__u32 size = bpf_core_type_size(struct cpumask);

	if (!key)
		return 0;
	key->kind = PLUMB_MEANWHILE_WAITER;
	meanwhile_of_task(key, task);
	if (size > sizeof(key->allowed)) {
		key->n_allowed = BPF_CORE_READ(task, nr_cpus_allowed);
		size = sizeof(key->allowed);
	}
	bpf_core_read(key->allowed, size, &task->cpus_mask);
	meanwhile_add(key, ns);
	return 0;
}

/* Which of the groups that are or were throttled on CPU are the waiter's, or above it. */
__noinline int meanwhile_groups(__u32 cpu)
{
	struct sched_turns *turns = bpf_map_lookup_elem(&plumb_turns, &cpu);
	__u64 group = sched_group((struct task_struct *)meanwhile_waiter());
	__u32 i, set = 0;

	for (i = 0; turns && i < 4; i++) {
		set |= sched_set_of(turns, group);
		group = sched_group_above(group);
	}
	return set;
}

/*
 * The waiter waited in turn AT of CPU, from BEGAN to ENDED; THROTTLED: those of its groups
 * that were when the turn began.
 */
__noinline int meanwhile_in_turn(__u32 cpu, __u32 at, __u64 began, __u64 ended, __u32 throttled)
{
	struct sched_turns *turns = bpf_map_lookup_elem(&plumb_turns, &cpu);
	__u32 bit = sched_lowest(throttled);
	const struct sched_turn *turn;
	__u64 until = began;

	if (!turns)
		return 0;
	turn = &turns->all[at & (SCHED_TURNS - 1)];
	if (bit) {
		until = ended;
		if (turn->refilled == bit && turn->since < ended)
			until = turn->since > began ? turn->since : began;
		if (until > began)
			meanwhile_quota(*sched_group_at(turns, bit), until - began);
	}
	if (until < ended)
		meanwhile_turn(cpu, at, ended - until);
	return 0;
}

/*
 * The thread of TASK waited from FROM to TO for CPU, and then got it, or another one; THROTTLED: it
 * had left for lack of quota.  A quota is used up from when a thread of the group left for that
 * reason until the group is seen to have one again.
 */
__noinline int meanwhile_wait_of(__u64 task, __u32 cpu, __u64 from, __u64 to, bool throttled)
{
	struct sched_turns *turns = bpf_map_lookup_elem(&plumb_turns, &cpu);
	struct meanwhile_scratch *scratch = meanwhile_scratch();
	struct sched_turn *before;
	__u64 began, ended, known = 0;
	__u32 i, at, groups;

	if (!turns || !scratch || from >= to)
		return 0;
	scratch->waiter = task;
	groups = throttled || !sched_throttles_threads() ? meanwhile_groups(cpu) : 0;
	before = &turns->all[(turns->n - 1) & (SCHED_TURNS - 1)];
	if (before->ended && before->ended < to) {
		known = to - (before->ended > from ? before->ended : from);
		meanwhile_at_last(cpu, known, before->throttled & groups);
	}
	for (i = 1; i < SCHED_TURNS; i++) {
		at = (turns->n - i) & (SCHED_TURNS - 1);
		before = &turns->all[(at - 1) & (SCHED_TURNS - 1)];
		ended = turns->all[at].ended;
		began = before->ended;
		if (!began || began > ended || ended <= from)
			break;
		if (began < from)
			began = from;
		if (ended > to)
			ended = to;
		if (began >= ended)
			continue;
		known += ended - began;
		meanwhile_in_turn(cpu, at, began, ended, before->throttled & groups);
	}
	if (known < to - from)
		meanwhile_turn(cpu, SCHED_TURNS, to - from - known);
	return 0;
}

/* The same, and who waited. */
static __always_inline void meanwhile_tell(__u64 task, __u32 cpu, __u64 from, __u64 to,
					   bool throttled)
{
	if (from >= to)
		return;
	meanwhile_wait_of(task, cpu, from, to, throttled);
	meanwhile_waited(to - from);
}

static __always_inline void meanwhile_wait(__u32 cpu, __u64 from, __u64 to, bool throttled)
{
	meanwhile_tell(bpf_get_current_task(), cpu, from, to, throttled);
}

/* The thread of R has waited on its way out of a call, and has the CPU of this program now. */
static __always_inline void meanwhile_returned(const struct plumb_return *r)
{
	const struct sched_stay *stay = sched_stay(bpf_get_smp_processor_id());
	__u64 to = stay && stay->task == r->task ? stay->began : r->ended;

	if (plumb_config.meanwhile && r->cause != PLUMB_RETURN_ASLEEP)
		meanwhile_tell(r->task, r->cpu, r->left, to, r->cause == PLUMB_RETURN_QUOTA);
}
