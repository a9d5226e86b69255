/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/bpf/syscall/syscall-key.bpf.h>

#include <plumb/bpf/core/copies.bpf.h>
#include <plumb/bpf/sched/split.h>
#define SCHED_MEANWHILE
enum { SPLIT_PARTS = PLUMB_RETURN_PARTS };
#include <plumb/bpf/hist/split-hist.bpf.h>
#include <plumb/bpf/sched/split-irq.bpf.h>
#include <plumb/bpf/syscall/syscall-timing.bpf.h>

/* Return whether the entry of a call determines its row, and whether it has one. */
static __always_inline bool timing_at_entry(void)
{
	return !(plumb_config.by & (PLUMB_BY_ERRNO | PLUMB_BY_CPU | PLUMB_BY_FD)) &&
	       !syscall_config.only_errors && !syscall_config.min_ns;
}

static __always_inline void timing_begin(struct call_thread *t, struct task_struct *task,
					 __u64 call)
{
	key_refresh(t, task);
	if (plumb_config.by & PLUMB_BY_FD)
		fd_find(t, call);
}

static __always_inline __u32 timing_slot(struct call_thread *t, struct task_struct *task,
					 __u64 call, __u32 cpu)
{
	return syscall_slot(t, task, call, 0, cpu);
}

/* Of the time off the CPU no more than the sums is needed. */

static __always_inline void split_begins(struct call_thread *t)
{
}

static __always_inline void split_leaves(struct bpf_raw_tracepoint_args *ctx, struct call_thread *t,
					 struct task_struct *task)
{
	(void)ctx, (void)t, (void)task;
}

static __always_inline void split_was_offcpu(struct call_thread *t, __u64 off_cpu, __u64 waited,
					     const struct sched_stay *stay)
{
	split_meanwhile(t, off_cpu, waited, stay);
}

/*
 * Record a call that may have left the CPU.  Few calls have, so it is not inlined: ten programs
 * would contain it twice.  T is NULL if it was not looked up.
 */
static __noinline int record_left(struct call_thread *t, __u32 slot, __u64 ns, __u32 error)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 on = ns;

	if (!t)
		t = inflight_get(task);
	if (t)
		on = split_finish(t, task, cpu, ns);
	if (t && on != ns)
		split_record(t->off, slot, cpu, ns, on, error);
	else
		hist_record(slot, cpu, ns, error, false);
	return 0;
}

static __always_inline bool is_filtered_at_exit(__u64 ns, __u32 error)
{
	return (syscall_config.only_errors && !error) || ns < syscall_config.min_ns;
}

static __always_inline __u32 return_slot(struct call_thread *t, struct task_struct *task)
{
	return syscall_slot(t, task, t->call, t->ret.error, bpf_get_smp_processor_id());
}

/* Add the call N times, 1 or -1, to what it is counted in. */
static __always_inline void return_count(const struct plumb_return *r, const __u64 *off, __u32 cpu,
					 __u64 n)
{
	__u64 on = r->ns;
	int i;

	if (is_filtered_at_exit(r->ns, r->error)) {
		ledger_add(cpu, filtered_at_exit, n);
		return;
	}
	if (!plumb_config.split) {
		hist_record_split(r->slot, cpu, r->ns, r->error, on, true, n);
		return;
	}
	for (i = 0; i < SPLIT_PARTS; i++)
		on -= off[i];
	split_record_n(off, r->slot, cpu, r->ns, on, r->error, n);
}

static __always_inline bool return_undo(struct bpf_raw_tracepoint_args *ctx, struct call_thread *t,
					struct return_held *h, __u32 cpu)
{
	int i;

	t->off[PLUMB_RETURN] = t->ret.waited;
	for (i = 0; i < SPLIT_PARTS; i++)
		h->off[i] = t->off[i];
	return_count(&t->ret, h->off, cpu, -1);
	return true;
}

static __always_inline void return_redo(struct return_held *h, __u32 cpu)
{
	meanwhile_returned(&h->ret);
	h->off[PLUMB_RETURN] = h->ret.waited;
	return_count(&h->ret, h->off, cpu, 1);
}

static __always_inline void timing_end(const struct timing_call *c)
{
	__u32 error = syscall_error(c->call, c->call >> 32, c->ret), slot = c->slot;
	__u32 cpu = bpf_get_smp_processor_id();

	if (!c->in_inflight_slot) {
		if (is_filtered_at_exit(c->ns, error)) {
			ledger_count(cpu, filtered_at_exit);
			return;
		}
		if (plumb_config.by & PLUMB_BY_FD && fd_is_connect(c->call))
			fd_find(c->t, c->call);
		slot = syscall_slot(c->t, current_task(), c->call, error, cpu);
	}
	if (plumb_config.split && c->left)
		record_left(c->t, slot, c->ns, error);
	else
		hist_record(slot, cpu, c->ns, error, false);
}

const volatile __u32 fentry_nrs[PLUMB_COPIES] = {};

/* On arm64, 32-bit calls run the functions of native ones, too; on x86 they have their own. */
static __always_inline bool is_compat_call(struct task_struct *task)
{
#if defined(__TARGET_ARCH_arm64)
	return syscall_abi(task);
#else
	return false;
#endif
}

/*
 * A copy for each function.  The loader sets the targets of those that it needs; no others are
 * loaded.
 */
PROGRAM_COPIES(enter, "?fentry")
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	struct task_struct *task = current_task();
	struct syscall_arguments a = syscall_arguments(regs);

	if (!filter_thread(task) || !filter_entry(task))
		return 0;
	if (is_compat_call(task))
		ledger_count(bpf_get_smp_processor_id(), compat_calls);
	else if (syscall_arguments_match(&a))
		timing_enter(task, syscall_word(fentry_nrs[copy], PLUMB_ABI_NATIVE), NULL);
	return 0;
}

/*
 * fexit runs only for calls that began during the trace: if one has no state, it was filtered at
 * its entry, or its entry was missed.
 */
PROGRAM_COPIES(leave, "?fexit")
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	struct task_struct *task = current_task();
	struct syscall_arguments a;
	struct call_thread *t;

	if (!filter_thread(task) || is_compat_call(task))
		return 0;
	t = inflight_get(task);
	if (t && t->start) {
		timing_leave(t, ctx[1], regs);
	} else if (unlikely(plumb_config.preemptible)) {
		a = syscall_arguments(regs);
		if (plumb_live && filter_entry(task) && syscall_arguments_match(&a))
			ledger_count(bpf_get_smp_processor_id(), unmatched);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
