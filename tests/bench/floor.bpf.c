/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * floor: what a system call tracer cannot avoid paying, and what each further
 * step adds to it.
 *
 * Every mode is this one program: the step is read-only data, so the verifier
 * removes what lies beyond it and the mode runs exactly the code that is left.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <plumb/bpf/hist/hist.h>
#include "floor.h"

#define BUCKETS 4096 /* more than precision 6 has */

const volatile __u32 floor_step = FLOOR_EMPTY;
const volatile __u32 floor_pid = 0;

/* Cache lines of its own for each CPU, so that two threads do not meet. */
struct counters {
	__u64 began, ended, count, sum, max, inverted_min;
	__u64 pad[10];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} starts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader: possible CPUs */
	__type(key, __u32);
	__type(value, struct counters);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader: possible CPUs */
	__type(key, __u32);
	__type(value, struct counters);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader: possible CPUs */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, BUCKETS * sizeof(__u64));
} hists SEC(".maps");

static __always_inline bool reached(enum floor_step step)
{
	return floor_step >= step;
}

/* A call through a constant address is never removed, neither by clang nor by the verifier. */
static __always_inline __u64 clock(void)
{
	return reached(FLOOR_CLOCK) ? bpf_ktime_get_ns() : 0;
}

static __always_inline bool wanted(const struct task_struct *task)
{
	return !reached(FLOOR_WHO) || (__u32)task->tgid == floor_pid;
}

static __always_inline void add_totals(__u32 cpu, __u64 ns)
{
	struct counters *t = bpf_map_lookup_elem(&totals, &cpu);

	if (!t)
		return;
	t->count++;
	t->sum += ns;
	if (ns > t->max)
		t->max = ns;
	if (~ns > t->inverted_min)
		t->inverted_min = ~ns;
}

static __always_inline void add_hist(__u32 cpu, __u64 ns)
{
	__u64 *buckets = bpf_map_lookup_elem(&hists, &cpu);
	__u32 i = plumb_hist_index(ns, PLUMB_HIST_PRECISION);

	if (buckets && i < BUCKETS)
		buckets[i]++;
}

SEC("raw_tp/sys_enter")
int enter(void *ctx __attribute__((unused)))
{
	struct task_struct *task = NULL;
	struct counters *c;
	__u64 *start;
	__u32 cpu;

	if (reached(FLOOR_WHO))
		task = bpf_get_current_task_btf();
	if (!wanted(task))
		return 0;
	if (!reached(FLOOR_STORAGE)) {
		clock();
		return 0;
	}
	start = bpf_task_storage_get(&starts, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!start)
		return 0;
	if (reached(FLOOR_COUNT)) {
		cpu = bpf_get_smp_processor_id();
		c = bpf_map_lookup_elem(&calls, &cpu);
		if (c)
			c->began++;
	}
	*start = clock();
	return 0;
}

SEC("raw_tp/sys_exit")
int leave(void *ctx __attribute__((unused)))
{
	struct task_struct *task = NULL;
	struct counters *c;
	__u64 *start, ns;
	__u32 cpu;

	if (reached(FLOOR_WHO))
		task = bpf_get_current_task_btf();
	if (!wanted(task))
		return 0;
	if (!reached(FLOOR_STORAGE)) {
		clock();
		return 0;
	}
	start = bpf_task_storage_get(&starts, task, 0, 0);
	if (!start || !*start)
		return 0;
	ns = clock() - *start;
	*start = 0;
	if (!reached(FLOOR_COUNT))
		return 0;
	cpu = bpf_get_smp_processor_id();
	c = bpf_map_lookup_elem(&calls, &cpu);
	if (c)
		c->ended++;
	if (reached(FLOOR_TOTALS))
		add_totals(cpu, ns);
	if (reached(FLOOR_HIST))
		add_hist(cpu, ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
