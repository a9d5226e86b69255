/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/bpf/stack/stacks.h>

#include <plumb/bpf/sched/waker.h>
#include "syscall-slower.h"

/*
 * Of a call: the stacks when it last left the CPU, and those of its longest time off the CPU; the
 * waker that ended its longest sleep, and the preempter of its longest preemption.
 */
struct where {
	__u64 longest, longest_wait; /* ns */
	__s32 kernel, user, longest_kernel, longest_user;
	__u64 preempted;     /* the longest time off the CPU was a preemption */
	__u64 slept, lacked; /* ns: longest sleep with the wait after it; longest preemption */
	struct plumb_waker woken_by, preempted_by, taken_by /* the last time */;
	__u64 waited;   /* for a CPU, in this call (waits.bpf.h) */
	__u64 asked[2]; /* the time that the call points to (struct syscall_shape) */
	__u64 asked_known;
	/* Of its descriptors (described.bpf.h): files, and those when it first left its CPU. */
	__u64 values[8], files[2], held[2], noted, polled;
	__u64 dropped; /* the end of the thread's last call that was not recorded for lack of room
			*/
};
#define PLUMB_THREAD_OWN where

#define SCHED_WAKERS
#define SCHED_MEANWHILE
#define MEANWHILE_ADD
#define PLUMB_KEY struct plumb_who
#include <plumb/bpf/key/keys.bpf.h>
#include <plumb/bpf/sched/split-irq.bpf.h>
#define RETURN_CALL slow_call
#include <plumb/bpf/syscall/syscall-timing.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>
#include <plumb/bpf/block/disks-follow.bpf.h>
#include <plumb/bpf/block/file-disk.bpf.h>
#include "described.bpf.h"
#include "waits.bpf.h"
#include "longest.bpf.h"

const volatile __u64 slower_min_ns = 0;

static __always_inline void split_begins(struct call_thread *t)
{
	t->own.longest = t->own.slept = t->own.lacked = t->own.waited = 0;
}

/* The current thread goes to sleep in a call on FILE.  Not static: so the verifier sees it once. */
__noinline int waits_for_disk(__u64 file)
{
	struct file *f = (struct file *)file;
	struct inode *inode = BPF_CORE_READ(f, f_inode);
	__u32 type = BPF_CORE_READ(inode, i_mode) & S_IFMT, disk;

	if (type != S_IFREG && type != S_IFBLK)
		return 0;
	disk = file_disk(f, inode, BPF_CORE_READ(inode, i_sb));
	if (!disk)
		return 0;
	disk_wait_begins(bpf_get_current_task(), disk, bpf_ktime_get_ns());
	disk_is_limited(current_task(), disk);
	return 0;
}

static __always_inline void split_leaves(struct bpf_raw_tracepoint_args *ctx, struct call_thread *t,
					 struct task_struct *task)
{
	described_note(t, task);
	if (!t->preempted && t->own.held[0])
		waits_for_disk(t->own.held[0]);
	longest_leaves(ctx, t, task);
}

static __always_inline void split_was_offcpu(struct call_thread *t, __u64 off_cpu, __u64 waited,
					     const struct sched_stay *stay)
{
	/* It can have been woken before it had left. */
	if (disk_waiting > 0)
		disk_wait_ends(bpf_get_current_task(), bpf_ktime_get_ns());
	if (t->preempted || waited)
		waits_begin(t);
	split_meanwhile(t, off_cpu, waited, stay);
	longest_was_offcpu(t, off_cpu, waited, stay);
}

/* There are no rows. */

static __always_inline bool timing_at_entry(void)
{
	return true;
}

static __always_inline void timing_begin(struct call_thread *t, struct task_struct *task,
					 __u64 call)
{
	const volatile struct syscall_shape *shape = shape_of(call);

	(void)task;
	t->own.asked_known = t->own.noted = 0;
	if (shape && shape->time)
		asked_read(t, call);
}

static __always_inline __u32 timing_slot(struct call_thread *t, struct task_struct *task,
					 __u64 call, __u32 cpu)
{
	(void)t, (void)task, (void)call, (void)cpu;
	return 0;
}

/* The call of T took NS.  Not a part of describe(): together they would need too much stack. */
static __noinline int split_ended(struct call_thread *t, __u64 ns)
{
	if (t)
		split_finish(t, current_task(), bpf_get_smp_processor_id(), ns);
	return 0;
}

/* The call has been split. */
static __noinline int describe(struct slow_call *s, const struct timing_call *c,
			       struct call_thread *t)
{
	static const struct slow_call empty;
	struct task_struct *task = current_task();
	struct pt_regs *regs;

	if (!s || !c)
		return 0;
	regs = c->regs ? c->regs : syscall_registers();
	*s = empty;
	s->end = c->end;
	s->ns = c->ns;
	s->ret = c->ret;
	s->nr = c->call;
	s->abi = c->call >> 32;
	s->pid = current_pid(task);
	s->tid = current_tid(task);
	s->cpu = bpf_get_smp_processor_id();
	s->cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(s->comm, sizeof(s->comm));
	if (regs && syscall_keeps_arguments(s->nr, s->abi, c->ret)) {
		syscall_read_arguments(regs, s->abi, s->arguments);
		s->has_arguments = 1;
	}
	if (!t)
		return 0;
	longest_describe(s, t);
	if (t->own.asked_known) {
		s->asked[0] = t->own.asked[0];
		s->asked[1] = t->own.asked[1];
		s->asked_known = 1;
	}
	return 0;
}

static __always_inline void count(__u32 cpu, __u64 n)
{
	struct plumb_totals *totals = totals_of(1, cpu);

	if (totals)
		plumb_add(totals->count, n);
}

static __always_inline bool is_filtered_at_exit(__u64 ns, __u32 error)
{
	return ns < slower_min_ns || (syscall_config.only_errors && !error);
}

/* Each record is tested where it is reserved: later 5.10 does not know that it is there. */
static __always_inline bool record(const struct timing_call *c, struct call_thread *t)
{
	bool described = described_find(c, t);
	struct slow_record *r;

	if (t && t->own.waited) {
		r = bpf_ringbuf_reserve(&slow_calls, sizeof(*r), 0);
		if (!r)
			return false;
		waits_copy(&r->waits, bpf_get_current_task());
		if (described)
			described_copy(r->descriptors);
		else
			r->descriptors[0].kind = r->descriptors[1].kind = 0;
	} else if (described) {
		r = bpf_ringbuf_reserve(&slow_calls, offsetof(struct slow_record, waits), 0);
		if (!r)
			return false;
		described_copy(r->descriptors);
	} else {
		r = bpf_ringbuf_reserve(&slow_calls, sizeof(struct slow_call), 0);
		if (!r)
			return false;
	}
	describe(&r->call, c, t);
	bpf_ringbuf_submit(r, 0);
	return true;
}

static __always_inline void timing_end(const struct timing_call *c)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct call_thread *t;

	if (is_filtered_at_exit(c->ns, syscall_error(c->call, c->call >> 32, c->ret))) {
		ledger_count(cpu, filtered_at_exit);
		return;
	}
	t = c->t ? c->t : inflight_get(current_task());
	split_ended(t, c->ns);
	if (record(c, t)) {
		count(cpu, 1);
		return;
	}
	ledger_count(cpu, dropped);
	if (t)
		t->own.dropped = c->end;
}

/* --- waits on the way out --- */

static __always_inline __u32 return_slot(struct call_thread *t __attribute__((unused)),
					 struct task_struct *task __attribute__((unused)))
{
	return 0;
}

/*
 * If each record woke the loader, which then takes the CPU from the thread on its way out, so that
 * its call is recorded once more, this would go on for milliseconds.  A call that was recorded
 * before comes without, unless the loader has stopped waiting for it (calls_print()).
 */
static __always_inline __u64 wakeup_for(const struct return_held *h)
{
	if (!h->call.replaces)
		return 0;
	return bpf_ktime_get_ns() - h->call.replaces > RECALLED_WITHIN ? BPF_RB_FORCE_WAKEUP
								       : BPF_RB_NO_WAKEUP;
}

/* The loader will not print the thread's last call, which it has a record of; false: it may. */
static __always_inline bool recall(const struct call_thread *t)
{
	struct recall *r;

	if (t->own.dropped == t->ret.ended || bpf_ktime_get_ns() - t->ret.ended > RECALLED_WITHIN)
		return false;
	r = bpf_ringbuf_reserve(&slow_calls, sizeof(*r), 0);
	if (!r)
		return false;
	r->end = t->ret.ended;
	r->tid = current_tid(current_task());
	r->pad = 0;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return true;
}

static __always_inline bool return_undo(struct bpf_raw_tracepoint_args *ctx, struct call_thread *t,
					struct return_held *h, __u32 cpu)
{
	struct task_struct *task = current_task();
	struct timing_call c = {
		.call = t->call,
		.ns = t->ret.ns,
		.end = t->ret.ended,
		.regs = return_registers(task),
	};
	bool filtered = is_filtered_at_exit(t->ret.ns, t->ret.error);
	__u32 nr;

	if (filtered)
		ledger_add(cpu, filtered_at_exit, -1);
	else if (recall(t))
		count(cpu, -1);
	else
		return false;
	return_call(c.regs, &nr, &c.ret);
	split_ended(t, c.ns);
	waits_begin(t);
	describe(&h->call, &c, t);
	h->call.replaces = filtered ? 0 : t->ret.ended;
	return true;
}

static __always_inline void return_redo(struct return_held *h, __u32 cpu)
{
	struct slow_record *r;
	struct slow_call *s;

	meanwhile_returned(&h->ret);
	if (is_filtered_at_exit(h->ret.ns, h->ret.error)) {
		ledger_count(cpu, filtered_at_exit);
		return;
	}
	r = bpf_ringbuf_reserve(&slow_calls, sizeof(*r), 0);
	if (!r) {
		ledger_count(cpu, dropped);
		h->ret.late = 1;
		return;
	}
	/* What its descriptors were, the loader knows (arguments_recall()). */
	r->descriptors[0].kind = r->descriptors[1].kind = 0;
	waits_copy(&r->waits, h->ret.task);
	s = &r->call;
	*s = h->call;
	s->end = h->ret.ended;
	/* Its switch was not seen.  Records arrive in order; this one will not be recalled. */
	if (bpf_ktime_get_ns() - s->end > RECALLED_WITHIN) {
		s->end = bpf_ktime_get_ns();
		h->ret.late = 1;
	}
	s->ns = h->ret.ns;
	s->off[PLUMB_RETURN] = h->ret.waited;
	s->held_by = h->ret.longest_cause;
	s->cpu = cpu;
	bpf_ringbuf_submit(r, wakeup_for(h));
	count(cpu, 1);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
