/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "call.bpf.h"

#define SCHED_IDLE
enum { SPLIT_PARTS = IO_PARTS };
#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/syscall/selection.bpf.h>
#include <plumb/bpf/syscall/untimed.bpf.h>

/* Calls that are only counted. */
const volatile __u8 io_untimed[2 * PLUMB_SYSCALLS] = {};

static __always_inline void count_untimed(struct task_struct *task, __u32 nr, __u32 abi)
{
	__u32 i = syscall_kind(io_untimed, nr, abi);

	if (i && filter_entry(task))
		untimed_count(i - 1);
}
#define SYSCALL_NOT_SELECTED(task, nr, abi) count_untimed(task, nr, abi)

#include <plumb/bpf/hist/split-hist.bpf.h>
#include <plumb/bpf/sched/split-irq.bpf.h>
#include "requests.bpf.h"

#define PLUMB_KEY struct io_key
#include <plumb/bpf/key/key.bpf.h>
#define RETURN_CALL io_record
#include <plumb/bpf/syscall/syscall-timing.bpf.h>
#include "file.bpf.h"

/* Frames of the stack that are searched for the place where a thread waits. */
#define FRAMES 16

/* Ascending; unused ones are at the end. */
const volatile struct io_place io_places[IO_PLACES] = {};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by the loader */
} io_records SEC(".maps");

/* --- sleeps --- */

/*
 * What a thread waits for in the function that contains ADDRESS; IO_RUNS: not known. Not static, so
 * that the verifier checks it once, not for each frame.
 */
__noinline __u32 wait_at(__u64 address)
{
	__u32 at = 0, step;

	for (step = IO_PLACES / 2; step; step /= 2)
		if (io_places[(at + step) & (IO_PLACES - 1)].from <= address)
			at += step;
	at &= IO_PLACES - 1;
	return address >= io_places[at].from && address < io_places[at].to ? io_places[at].wait
									   : IO_RUNS;
}

/* Of a file of a file system the wait is the file system's, whatever its function is called. */
static __noinline __u32 wait_of(struct bpf_raw_tracepoint_args *ctx, struct task_struct *task,
				__u32 of_fs, __u32 dev)
{
	__u64 frames[FRAMES] = {};
	__u32 wait;
	int i;

	if (io_config.n_places && bpf_get_stack(ctx, frames, sizeof(frames), 0) > 0)
		for (i = 0; i < FRAMES; i++) {
			wait = wait_at(frames[i]);
			if (wait != IO_RUNS)
				return wait;
		}
	if (of_fs && !dev)
		return IO_WAITS_FS_ONLY;
	if (sched_waits_for_io(task))
		return IO_WAITS_IO;
	return of_fs ? IO_WAITS_FS_ONLY : IO_WAITS;
}

const volatile __u32 io_stacks = 0; /* --stacks */

/* Once in a call, if it leaves the CPU. */
static __always_inline void take_stack(void *ctx, struct io_call *c, struct task_struct *task)
{
	if (!io_stacks || c->user != PLUMB_LOST_STACK)
		return;
	c->user = stack_user(ctx, task, bpf_get_smp_processor_id(), &c->tgid);
}

static __always_inline void split_begins(struct call_thread *t)
{
	call_begin(&t->own, bpf_ktime_get_ns());
}

static __always_inline void split_leaves(struct bpf_raw_tracepoint_args *ctx, struct call_thread *t,
					 struct task_struct *task)
{
	__u32 waits, dev;

	take_stack(ctx, &t->own, task);
	if (t->preempted)
		return;
	waits = wait_of(ctx, task, t->own.of_fs, t->own.dev);
	dev = t->own.dev ?: t->own.to;
	t->own.limited =
		waits >= IO_WAITS_IO && disk_is_limited(task, dev) && !io_config.sees_limits;
	call_leaves(&t->own, waits, t->left);
	if (waits >= IO_WAITS_IO)
		disk_wait_begins((__u64)task, dev, t->left);
}

static __always_inline void split_was_offcpu(struct call_thread *t, __u64 off_cpu, __u64 waited,
					     const struct sched_stay *stay)
{
	if (t->preempted)
		return;
	call_is_back(&t->own, off_cpu - waited, stay->began - waited);
	/* It can be woken before it has left. */
	disk_wait_ends(t->own.task, stay->began - waited);
	t->own.ns[IO_WAKE] += sched_waited_idle(stay, waited);
}

/* The sleep ends with the wakeup, not when the thread gets a CPU. */
SEC("raw_tp/sched_waking")
int sleeper_woken(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0], now;
	struct plumb_thread_kept *kept = bpf_map_lookup_elem(&plumb_threads_by_task, &task);

	if (!kept || kept->thread.own.waits == IO_RUNS)
		return 0;
	now = bpf_ktime_get_ns();
	call_woken(&kept->thread.own, now);
	disk_wait_ends(task, now);
	return 0;
}

/* --- calls --- */

/* The slot depends on the file, which is not a part of what a thread caches. */
static __always_inline bool timing_at_entry(void)
{
	return false;
}

static __always_inline void timing_begin(struct call_thread *t, struct task_struct *task,
					 __u64 call)
{
	(void)call;
	key_refresh(t, task);
	file_note(&t->own, task);
}

static __always_inline __u32 timing_slot(struct call_thread *t, struct task_struct *task,
					 __u64 call, __u32 cpu)
{
	(void)t, (void)task, (void)call, (void)cpu;
	return 0;
}

static __always_inline __u32 io_slot(const struct call_thread *t, struct task_struct *task,
				     __u64 call, __u32 error, __u32 cpu)
{
	const struct io_call *own = &t->own;
	struct io_key key = {};
	__u32 slot;

	key_who(&key.call.who, t, task, cpu);
	if (plumb_config.by & PLUMB_BY_SYSCALL) {
		key.call.nr = call;
		key.call.abi = call >> 32;
	}
	if (plumb_config.by & PLUMB_BY_ERRNO)
		key.call.error = error;
	if (plumb_config.by & IO_BY_FS)
		__builtin_memcpy(key.fs, own->fs, sizeof(key.fs));
	if (plumb_config.by & IO_BY_DISK)
		key.dev = own->dev;
	key_find(&key, &slot);
	return slot;
}

/* What a call has waited for, but its parts. */
static __always_inline void describe_waits(struct io_waited *w, const struct io_call *own)
{
	w->other = own->other;
	w->dev = own->dev;
	__builtin_memcpy(w->fs, own->fs, sizeof(w->fs));
}

/* What a record has of a call of the current thread but its time and its parts. */
static __always_inline void describe(struct io_record *r, const struct call_thread *t,
				     struct task_struct *task, __u64 call, long ret, __u32 cpu)
{
	r->ret = ret;
	r->cgroup = bpf_get_current_cgroup_id();
	r->pid = current_pid(task);
	r->tid = current_tid(task);
	r->nr = call;
	r->abi = call >> 32;
	r->cpu = cpu;
	r->user = t->own.user;
	r->tgid = t->own.tgid;
	describe_waits(&r->waited, &t->own);
	bpf_get_current_comm(r->comm, sizeof(r->comm));
}

static __always_inline void record(const struct timing_call *c, struct task_struct *task,
				   const __u64 *off, __u32 cpu)
{
	struct io_record *r = bpf_ringbuf_reserve(&io_records, sizeof(*r), 0);
	int i;

	if (!r) {
		io_count(dropped);
		return;
	}
	r->end = bpf_ktime_get_ns();
	r->ns = c->ns;
	for (i = 0; i < IO_PARTS; i++)
		r->waited.off[i] = off[i];
	describe(r, c->t, task, c->call, c->ret, cpu);
	bpf_ringbuf_submit(r, 0);
}

/*
 * Divide BLOCKED ns, in which the thread was blocked, as NS are divided; what is left of it is
 * unexplained.
 */
static __always_inline void divide(const __u64 *ns, __u64 blocked, __u64 *off)
{
	int i;

	for (i = IO_DEVICE; i < IO_UNEXPLAINED; i++) {
		off[i] = at_most(ns[i], blocked);
		blocked -= off[i];
	}
	off[IO_UNEXPLAINED] = blocked;
}

/* The parts in which the thread's call could run. */
static __always_inline void divide_runnable(const struct call_thread *t, __u64 *off)
{
	off[IO_IRQ] = t->off[PLUMB_IRQ];
	off[IO_PREEMPTED] = t->off[PLUMB_PREEMPTED];
	off[IO_WAKE] = at_most(t->own.ns[IO_WAKE], t->off[PLUMB_RUNQ]);
	off[IO_RUNQ] = t->off[PLUMB_RUNQ] - off[IO_WAKE];
	off[IO_RETURN] = 0;
}

/* The parts of the thread's call, which has ended. */
static __always_inline void parts_of(const struct call_thread *t, __u64 *off)
{
	divide_runnable(t, off);
	divide(t->own.ns, t->off[PLUMB_BLOCKED], off);
}

static __always_inline void timing_end(const struct timing_call *c)
{
	__u32 error = syscall_error(c->call, c->call >> 32, c->ret);
	__u32 cpu = bpf_get_smp_processor_id();
	struct task_struct *task = current_task();
	__u64 off[IO_PARTS], on;

	if (!c->t) /* never: no call is in an in-flight slot */
		return;
	on = split_finish(c->t, task, cpu, c->ns);
	parts_of(c->t, off);
	split_record(off, io_slot(c->t, task, c->call, error, cpu), cpu, c->ns, on, error);
	if (c->ns >= io_config.slower_ns)
		record(c, task, off, cpu);
}

/* --- waits on the way out --- */

static __always_inline __u32 return_slot(struct call_thread *t, struct task_struct *task)
{
	return io_slot(t, task, t->call, t->ret.error, bpf_get_smp_processor_id());
}

/* Add the call N times, 1 or -1, to its row. */
static __always_inline void return_count(struct return_held *h, const struct plumb_return *r,
					 __u32 cpu, __u64 n)
{
	__u64 on = r->ns, *off = h->call.waited.off;
	int i;

	off[IO_RETURN] = r->waited;
	for (i = 0; i < IO_PARTS; i++)
		on -= off[i];
	split_record_n(off, r->slot, cpu, r->ns, on, r->error, n);
}

static __always_inline bool return_undo(struct bpf_raw_tracepoint_args *ctx, struct call_thread *t,
					struct return_held *h, __u32 cpu)
{
	struct task_struct *task = current_task();
	long ret = 0;
	__u32 nr;

	return_call(return_registers(task), &nr, &ret);
	parts_of(t, h->call.waited.off);
	take_stack(ctx, &t->own, task);
	describe(&h->call, t, task, t->call, ret, cpu);
	h->call.ns = t->ret.ns;
	return_count(h, &t->ret, cpu, -1);
	return true;
}

/* A call that was slow before has a record. */
static __always_inline void return_redo(struct return_held *h, __u32 cpu)
{
	return_count(h, &h->ret, cpu, 1);
	if (h->call.ns >= io_config.slower_ns || h->ret.ns < io_config.slower_ns)
		return;
	h->call.ns = h->ret.ns;
	h->call.end = h->ret.ended;
	if (bpf_ringbuf_output(&io_records, &h->call, sizeof(h->call), 0))
		io_count(dropped);
}

#include "so-far.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
