/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * function-floor: what a tracer of a kernel function or a user function cannot avoid
 * paying, and what each further step adds to it.
 *
 * As in floor.bpf.c the step is read-only data: the verifier removes what lies
 * beyond it.  This file holds the programs of the hooks that come in pairs;
 * those of sessions, which need kfuncs, include it.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <plumb/bpf/hist/hist.h>
#include "function-floor.h"

#define BUCKETS 4096 /* more than precision 6 has */

const volatile __u32 floor_step = FLOOR_EMPTY;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader: possible CPUs */
	__type(key, __u32);
	__type(value, struct floor_seen);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader: possible CPUs */
	__type(key, __u32);
	__type(value, struct floor_seen);
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

static __always_inline __u32 row_of_current(__u32 cpu)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const __u64 *comm = (const __u64 *)task->comm;
	struct floor_seen *last = bpf_map_lookup_elem(&seen, &cpu);

	if (!last)
		return 0;
	if (last->tgid != (__u32)task->tgid || last->comm[0] != comm[0] ||
	    last->comm[1] != comm[1]) {
		last->tgid = task->tgid;
		last->comm[0] = comm[0];
		last->comm[1] = comm[1];
		last->row = cpu; /* a tool would look it up */
	}
	return last->row;
}

static __always_inline void add_totals(__u32 row, __u64 ns)
{
	struct floor_seen *t = bpf_map_lookup_elem(&totals, &row);

	if (!t)
		return;
	t->count++;
	t->sum += ns;
	if (ns > t->max)
		t->max = ns;
	if (~ns > t->inverted_min)
		t->inverted_min = ~ns;
}

static __always_inline void add_hist(__u32 row, __u64 ns)
{
	__u64 *buckets = bpf_map_lookup_elem(&hists, &row);
	__u32 i = plumb_hist_index(ns, PLUMB_HIST_PRECISION);

	if (buckets && i < BUCKETS)
		buckets[i]++;
}

static __always_inline void enter(__u64 *start)
{
	if (start)
		*start = clock();
}

static __always_inline void leave(__u64 *start)
{
	__u32 cpu, row;
	__u64 ns;

	if (!start || !*start)
		return;
	ns = clock() - *start;
	*start = 0;
	if (!reached(FLOOR_WHO))
		return;
	cpu = bpf_get_smp_processor_id();
	row = row_of_current(cpu);
	if (reached(FLOOR_TOTALS))
		add_totals(row, ns);
	if (reached(FLOOR_HIST))
		add_hist(row, ns);
}

#ifndef FLOOR_SESSION

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} starts SEC(".maps");

static __always_inline int at_entry(void)
{
	if (!reached(FLOOR_START))
		clock();
	else
		enter(bpf_task_storage_get(&starts, bpf_get_current_task_btf(), 0,
					   BPF_LOCAL_STORAGE_GET_F_CREATE));
	return 0;
}

static __always_inline int at_exit(void)
{
	if (!reached(FLOOR_START))
		clock();
	else
		leave(bpf_task_storage_get(&starts, bpf_get_current_task_btf(), 0, 0));
	return 0;
}

#define PAIR(name, at_the_entry, at_the_exit)                                                      \
	SEC(at_the_entry) int name##_enter(void *ctx __attribute__((unused)))                      \
	{                                                                                          \
		return at_entry();                                                                 \
	}                                                                                          \
	SEC(at_the_exit) int name##_leave(void *ctx __attribute__((unused)))                       \
	{                                                                                          \
		return at_exit();                                                                  \
	}

PAIR(fentry, "?fentry", "?fexit")
PAIR(multi, "?kprobe.multi", "?kretprobe.multi")
PAIR(kprobe, "?kprobe", "?kretprobe")
PAIR(uprobe, "?uprobe", "?uretprobe")
/* libbpf 1.1 does not know uprobe.multi: the loader sets how they attach. */
PAIR(umulti, "?uprobe", "?uretprobe")

#else

extern bool bpf_session_is_return(FLOOR_SESSION) __ksym;
extern __u64 *bpf_session_cookie(FLOOR_SESSION) __ksym;

static __always_inline int at_either(void *ctx __attribute__((unused)))
{
	if (!reached(FLOOR_START))
		clock();
	else if (bpf_session_is_return(FLOOR_CTX))
		leave(bpf_session_cookie(FLOOR_CTX));
	else
		enter(bpf_session_cookie(FLOOR_CTX));
	return 0;
}

/* libbpf 1.1 does not know these: the loader sets how they attach. */
SEC("?fentry")
int fsession(void *ctx)
{
	return at_either(ctx);
}

SEC("?kprobe.multi")
int ksession(void *ctx)
{
	return at_either(ctx);
}

SEC("?uprobe")
int usession(void *ctx)
{
	return at_either(ctx);
}

#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";
