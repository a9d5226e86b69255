/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A stall is from a tracepoint to another of the thread that stalls.  Stalls do not nest: a thread
 * in reclaim or compaction (PF_MEMALLOC) takes reserves instead of reclaiming for itself.
 */
#include "reclaim-latency.h"
#include <plumb/bpf/core/types.h>

/* What a thread is in, and what it was in last: why it then calls the OOM killer. */
struct reclaim_thread {
	__u64 start; /* ns, CLOCK_MONOTONIC; 0: it does not stall */
	struct reclaim_cause cause;
	__u32 order, gfp; /* as in reclaim_cause, of the zones that it compacts next */
};

#define PLUMB_THREAD struct reclaim_thread
#include <plumb/bpf/core/inflight-one.bpf.h>
#include <plumb/bpf/core/exit.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>

#define PLUMB_KEY struct reclaim_key
#include <plumb/bpf/key/key-cpu.bpf.h>

const volatile struct reclaim_config reclaim_config = {};

__u64 reclaim_kills_lost = 0; /* that there was no room for */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} reclaim_kills SEC(".maps");

/* The state of the current thread if it is traced, or NULL. */
static __always_inline struct reclaim_thread *state_of(struct task_struct *task)
{
	struct reclaim_thread *t;

	if (!filter_thread(task) || !filter_entry(task))
		return NULL;
	t = inflight_make(task);
	if (!t)
		ledger_count(bpf_get_smp_processor_id(), no_state);
	return t;
}

static __always_inline int stall(struct reclaim_thread *t, __u32 kind, __u32 order, __u32 gfp)
{
	__u32 cpu = bpf_get_smp_processor_id();

	if (t->start)
		ledger_count(cpu, exit_lost);
	ledger_count(cpu, began);
	t->cause.kind = kind;
	t->cause.order = order;
	t->cause.gfp = gfp;
	t->start = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int reclaim_begins(__u32 kind, __s32 order, __u32 gfp)
{
	struct reclaim_thread *t = state_of(current_task());

	if (!t)
		return 0;
	t->order = t->gfp = 0;
	return stall(t, kind, order + 1, gfp);
}

/* Comes before each of the zones that are compacted for an allocation. */
static __always_inline int compaction_tries(__s32 order, __u32 gfp)
{
	struct task_struct *task = current_task();
	struct reclaim_thread *t;

	if (!filter_thread(task) || !filter_entry(task))
		return 0;
	t = inflight_make(task); /* that there is none is counted with each zone */
	if (!t)
		return 0;
	t->order = order + 1;
	t->gfp = gfp;
	return 0;
}

static __always_inline int compaction_begins(void)
{
	struct reclaim_thread *t = state_of(current_task());

	return t ? stall(t, RECLAIM_COMPACTION, t->order, t->gfp) : 0;
}

static __always_inline void record(struct task_struct *task, const struct reclaim_cause *cause,
				   __u64 ns, __u64 pages, bool failed)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct reclaim_key key = {};
	struct plumb_totals *totals;

	if (plumb_config.by & RECLAIM_BY_KIND)
		key.cause.kind = cause->kind;
	if (plumb_config.by & RECLAIM_BY_ORDER)
		key.cause.order = cause->order;
	if (plumb_config.by & RECLAIM_BY_GFP)
		key.cause.gfp = cause->gfp;
	totals = hist_record(key_cpu_slot(task, &key, cpu), cpu, ns, failed, false);
	if (totals && pages) /* 5.10 has no atomic add of a constant 0, which clang makes a read */
		plumb_add(totals->counters[RECLAIM_PAGES], pages);
}

/* The stall of the current thread if it is of this kind, ended; or NULL. */
static __always_inline struct reclaim_thread *ended(struct task_struct *task, __u32 kind, __u64 *ns)
{
	__u64 now = bpf_ktime_get_ns();
	struct reclaim_thread *t;

	if (!filter_thread(task))
		return NULL;
	t = inflight_get(task);
	if (!t || !t->start || t->cause.kind != kind) {
		if (plumb_live && filter_entry(task))
			ledger_count(bpf_get_smp_processor_id(), unmatched);
		return NULL;
	}
	*ns = now - t->start;
	t->start = 0;
	return t;
}

static __always_inline int reclaim_ends(__u32 kind, __u64 pages)
{
	struct task_struct *task = current_task();
	struct reclaim_thread *t;
	__u64 ns;

	t = ended(task, kind, &ns);
	if (t)
		record(task, &t->cause, ns, pages, !pages);
	return 0;
}

/* It fails if no free page of that order came of it; without an order it is for no allocation. */
static __always_inline int compaction_ends(__u32 status)
{
	struct task_struct *task = current_task();
	struct reclaim_thread *t;
	__u64 ns;

	t = ended(task, RECLAIM_COMPACTION, &ns);
	if (t)
		record(task, &t->cause, ns, 0,
		       t->cause.order &&
			       status != bpf_core_enum_value(enum compact_result, COMPACT_SUCCESS));
	return 0;
}

/* ---- raw tracepoints ---- */

SEC("raw_tp/mm_vmscan_direct_reclaim_begin")
int raw_direct_begins(struct bpf_raw_tracepoint_args *ctx)
{
	return reclaim_begins(RECLAIM_DIRECT, argument(ctx, reclaim_config.order_at),
			      argument(ctx, reclaim_config.gfp_at));
}

SEC("raw_tp/mm_vmscan_direct_reclaim_end")
int raw_direct_ends(struct bpf_raw_tracepoint_args *ctx)
{
	return reclaim_ends(RECLAIM_DIRECT, ctx->args[0]);
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_begin")
int raw_memcg_begins(struct bpf_raw_tracepoint_args *ctx)
{
	return reclaim_begins(RECLAIM_MEMCG, argument(ctx, reclaim_config.order_at),
			      argument(ctx, reclaim_config.gfp_at));
}

SEC("raw_tp/mm_vmscan_memcg_reclaim_end")
int raw_memcg_ends(struct bpf_raw_tracepoint_args *ctx)
{
	return reclaim_ends(RECLAIM_MEMCG, ctx->args[0]);
}

SEC("raw_tp/mm_compaction_try_to_compact_pages")
int raw_compaction_tries(struct bpf_raw_tracepoint_args *ctx)
{
	return compaction_tries(ctx->args[0], ctx->args[1]);
}

SEC("raw_tp/mm_compaction_begin")
int raw_compaction_begins(void *ctx __attribute__((unused)))
{
	return compaction_begins();
}

SEC("raw_tp/mm_compaction_end")
int raw_compaction_ends(struct bpf_raw_tracepoint_args *ctx)
{
	return compaction_ends(reclaim_config.status_at == 4 ? argument_at(ctx, 4)
							     : argument_at(ctx, 5));
}

/* ---- tracepoints, where programs on raw ones can be preempted ---- */

SEC("tp/vmscan/mm_vmscan_direct_reclaim_begin")
int tp_direct_begins(struct trace_event_raw_mm_vmscan_direct_reclaim_begin_template *ctx)
{
	return reclaim_begins(RECLAIM_DIRECT, ctx->order, ctx->gfp_flags);
}

SEC("tp/vmscan/mm_vmscan_direct_reclaim_end")
int tp_direct_ends(struct trace_event_raw_mm_vmscan_direct_reclaim_end_template *ctx)
{
	return reclaim_ends(RECLAIM_DIRECT, ctx->nr_reclaimed);
}

SEC("tp/vmscan/mm_vmscan_memcg_reclaim_begin")
int tp_memcg_begins(struct trace_event_raw_mm_vmscan_direct_reclaim_begin_template *ctx)
{
	return reclaim_begins(RECLAIM_MEMCG, ctx->order, ctx->gfp_flags);
}

SEC("tp/vmscan/mm_vmscan_memcg_reclaim_end")
int tp_memcg_ends(struct trace_event_raw_mm_vmscan_direct_reclaim_end_template *ctx)
{
	return reclaim_ends(RECLAIM_MEMCG, ctx->nr_reclaimed);
}

SEC("tp/compaction/mm_compaction_try_to_compact_pages")
int tp_compaction_tries(struct trace_event_raw_mm_compaction_try_to_compact_pages *ctx)
{
	return compaction_tries(ctx->order, ctx->gfp_mask);
}

SEC("tp/compaction/mm_compaction_begin")
int tp_compaction_begins(void *ctx __attribute__((unused)))
{
	return compaction_begins();
}

SEC("tp/compaction/mm_compaction_end")
int tp_compaction_ends(struct trace_event_raw_mm_compaction_end *ctx)
{
	return compaction_ends(ctx->status);
}

/* ---- the OOM killer ---- */

/* Whether the current thread is traced, or the victim is a process that is. */
static __always_inline bool kill_is_traced(struct task_struct *task, __u32 victim)
{
	if ((filter_thread(task) && filter_entry(task)) || filter_lists_pid(victim))
		return true;
	return plumb_config.descendants && bpf_map_lookup_elem(&plumb_descendants, &victim);
}

SEC("raw_tp/mark_victim")
int victim_marked(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task(), *victim = (struct task_struct *)ctx->args[0];
	__u32 pid = reclaim_config.victim_is_task ? task_pid(victim) : ctx->args[0];
	struct reclaim_thread *t;
	struct reclaim_kill *kill;

	if (!plumb_live || !kill_is_traced(task, pid))
		return 0;
	kill = bpf_ringbuf_reserve(&reclaim_kills, sizeof(*kill), 0);
	if (!kill) {
		atomic_add(&reclaim_kills_lost, 1);
		return 0;
	}
	__builtin_memset(kill, 0, sizeof(*kill));
	kill->time = bpf_ktime_get_ns();
	kill->cgroup = bpf_get_current_cgroup_id();
	kill->pid = pid;
	kill->by_pid = current_pid(task);
	kill->by_tid = current_tid(task);
	bpf_get_current_comm(kill->by_comm, sizeof(kill->by_comm));
	if (reclaim_config.victim_is_task)
		bpf_core_read_str(kill->comm, sizeof(kill->comm), &victim->comm);
	t = inflight_get(task);
	if (t)
		kill->cause = t->cause;
	bpf_ringbuf_submit(kill, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
