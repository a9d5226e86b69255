/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * function-calls: the handling of the entry and the exit of a call of a kernel function, for all
 * hooks.
 */
#pragma once

#include <plumb/bpf/function/frames.bpf.h>
#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/function/function.h>
#include <plumb/bpf/core/pairing.bpf.h>
#include <plumb/bpf/function/switch.bpf.h>
#include <plumb/bpf/function/target.bpf.h>

struct function_call {
	__u64 target;      /* see call_target() */
	const __u64 *args; /* valid if function_config.takes_args is set */
	__u64 ns;
	__u64 ended;  /* ns, CLOCK_MONOTONIC; 0: not known (a session without frames) */
	__u64 on_cpu; /* ns; valid if plumb_config.off_cpu is set, like off */
	__u64 off[PLUMB_FRAME_PARTS]; /* ns off the CPU */
	long ret;
	__u32 error; /* positive errno, 0 for success */
};

#ifdef FUNCTION_SELECTS
static __always_inline bool function_wanted(struct task_struct *task, __u64 target, __u64 *args);
#else
static __always_inline bool function_wanted(struct task_struct *task, __u64 target, __u64 *args)
{
	(void)task, (void)target, (void)args;
	return true;
}
#endif
static __always_inline void function_record(struct task_struct *task,
					    const struct function_call *call);

/* Whether a call that begins now is to be traced: not before all programs are attached. */
static __always_inline bool function_begins(struct task_struct *task, __u64 target,
					    const __u64 *args)
{
	if (!plumb_live || !filter_entry(task))
		return false;
	return function_wanted(task, target, (__u64 *)args);
}

/* Instead of the target: the program's own target, a constant in it, which needs no register. */
#define FUNCTION_OWN (~0ULL)

static __always_inline __u64 call_target(const struct function_call *c)
{
	return c->target == FUNCTION_OWN ? function_own_target() : c->target;
}

/* The result, truncated to its size in bits. */
static __always_inline long function_result(__u64 target, long ret)
{
	__u32 spare = (64 - PLUMB_TARGET_RESULT_BITS(target)) & 63;

	return ret << spare >> spare;
}

/* The call's errno, 0 if it succeeded (include/linux/err.h: MAX_ERRNO is 4095). */
static __always_inline __u32 function_error(__u64 target, long ret)
{
	if (!PLUMB_TARGET_RESULT_BITS(target))
		return 0;
	ret = function_result(target, ret);
	return unlikely((__u64)ret >= (__u64)-4095) ? -ret : 0;
}

/*
 * The time, and how long the thread had been off the CPU until then: of one instant, even if
 * preempted.
 */
static __always_inline __u64 function_now(struct function_thread *t, __u64 *off)
{
	volatile __u32 *returns = &t->returns;
	__u64 now = bpf_ktime_get_ns();
	__u32 i, part, before;

	if (!plumb_config.off_cpu)
		return now;
	if (t->left)
		function_was_back(t);
	for (i = 0; i < 3; i++) {
		before = *returns;
		for (part = 0; part < PLUMB_FRAME_PARTS; part++)
			off[part] = *(volatile __u64 *)&t->off[part];
		now = bpf_ktime_get_ns();
		if (before == *returns)
			break;
	}
	return now;
}

/*
 * T is the state in which the call is kept; NULL: there is no memory for it.  COOKIE, of a session:
 * the entry's time is also stored there; NULL: there is no cookie.
 */
static __always_inline bool function_push_in(struct function_thread *t, __u64 target, __u64 place,
					     const __u64 *args, __u64 *cookie)
{
	__u32 cpu = bpf_get_smp_processor_id(), stale, i;
	struct plumb_frame *f;

	if (!t) {
		ledger_count(cpu, no_state);
		return false;
	}
	f = frame_push(t, place, target, &stale);
	if (stale)
		ledger_add(cpu, frames_left, stale);
	if (!f) {
		ledger_count(cpu, too_deep);
		return false;
	}
	ledger_count(cpu, began);
	f->target = target;
	for (i = 0; i < PLUMB_FUNCTION_ARGS; i++)
		f->args[i] = args[i];
	f->start = function_now(t, f->off);
	if (cookie)
		*cookie = f->start;
	*(volatile __u64 *)&f->place = place;
	return true;
}

static __always_inline bool function_push(struct task_struct *task, __u64 target, __u64 place,
					  const __u64 *args, __u64 *cookie)
{
	return function_push_in(inflight_make(task), target, place, args, cookie);
}

/*
 * The address of the context of an fentry, fexit or fsession program, which is in the call's own
 * frame at entry and exit. Its lower half, since this makes a number of a pointer.
 */
static __always_inline __u64 function_place(const __u64 *ctx)
{
	__u32 place;

	asm("%0 = %1" : "=w"(place) : "w"((__u32)(__u64)ctx));
	return place;
}

/*
 * In-flight slots, for fentry and fexit; with them neither the thread's state nor the CPU of the
 * entry has to be looked up.
 */

static __always_inline bool function_take_inflight_slot(const __u64 *ctx, struct task_struct *task)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_inflight_call_slot *s = inflight_call_slot(function_place(ctx), cpu);

	if (s->start) {
		if (s->place != (__u64)ctx)
			return false;
		/* Its own place: the call that had it is over, and its exit was missed. */
		if (s->start > PLUMB_CALL_REJECTED)
			ledger_count(cpu, exit_lost);
	}
	ledger_count(cpu, began);
	s->place = (__u64)ctx;
	s->pid = current_pid(task);
	s->tid = current_tid(task);
	s->start = bpf_ktime_get_ns();
	return true;
}

/* So that its exit need not search for it. */
static __always_inline void function_reject_in_inflight_slot(const __u64 *ctx)
{
	struct plumb_inflight_call_slot *s =
		inflight_call_slot(function_place(ctx), bpf_get_smp_processor_id());

	if (!s->start) {
		s->place = (__u64)ctx;
		s->start = PLUMB_CALL_REJECTED;
	}
}

/* The entry of a call; false: its exit is not needed. COOKIE: as above. */
static __always_inline bool function_enter(__u64 target, __u64 place, const __u64 *args,
					   __u64 *cookie)
{
	struct task_struct *task = current_task();

	if (cookie)
		*cookie = PLUMB_CALL_REJECTED;
	return filter_thread(task) && function_begins(task, target, args) &&
	       function_push(task, target, place, args, cookie);
}

static __always_inline void function_finish(struct task_struct *task, struct function_call *c)
{
	c->error = function_error(call_target(c), c->ret);
	if (unlikely((function_config.only_errors && !c->error) || c->ns < function_config.min_ns))
		ledger_count(bpf_get_smp_processor_id(), filtered_at_exit);
	else
		function_record(task, c);
}

/* At an exit without an entry: return whether there should have been one. */
static __always_inline void function_unmatched(struct task_struct *task, __u64 target,
					       const __u64 *args)
{
	/* Without arguments, a filter by arguments cannot decide. */
	if (!args && function_config.takes_args)
		return;
#ifdef PLUMB_USER_FUNCTIONS
	if (frames_are_inherited(task))
		return;
#endif
#ifdef FUNCTION_SELECTS /* others are only counted, in function_wanted() */
	if (!FUNCTION_SELECTS(target))
		return;
#endif
	if (function_begins(task, target, args))
		ledger_count(bpf_get_smp_processor_id(), unmatched);
}

/*
 * Return whether this is the exit of the call that began at START. If not, that call is counted in
 * the ledger, and so is this one if it is known to be another.
 */
static __always_inline bool function_pairs(struct task_struct *task, __u64 target, __u64 start,
					   const __u64 *args)
{
	enum pairing p;
	__u32 cpu;

	if (!function_config.paired)
		return true;
	cpu = bpf_get_smp_processor_id();
	p = pairing_judge(target, start, task, cpu);
	if (!unlikely(p))
		return true;
	if (p == PAIRING_DOUBTFUL) {
		ledger_count(cpu, unpaired);
	} else {
		ledger_count(cpu, exit_lost_nested);
		function_unmatched(task, target, args);
	}
	return false;
}

/* The call was in this in-flight slot. */
static __always_inline void
function_free_inflight_slot(struct task_struct *task, struct function_call *c,
			    struct plumb_inflight_call_slot *inflight_slot, __u64 now,
			    const __u64 *args)
{
	__u64 start = inflight_slot->start;

	inflight_slot->start = 0;
	if (start == PLUMB_CALL_REJECTED || !function_pairs(task, call_target(c), start, args))
		return;
	c->ns = c->on_cpu = now - start; /* tools that need less use frames */
	c->ended = now;
	c->args = args;
	function_finish(task, c);
}

/* Return whether the call is on the stack of frames of T, which may be NULL. */
static __always_inline bool function_pop_from(struct function_thread *t, struct task_struct *task,
					      struct function_call *c, __u64 place, __u64 now,
					      const __u64 *args)
{
	struct plumb_frame f;
	__u32 stale, i;

	if (!t)
		return false;
	if (plumb_config.off_cpu)
		now = function_now(t, c->off);
	if (!frame_pop(t, call_target(c), place, &f, &stale)) {
		if (!t->deeper)
			return false;
		t->deeper--;
		return true;
	}
	if (stale)
		ledger_add(bpf_get_smp_processor_id(), frames_left_nested, stale);
	if (!function_pairs(task, call_target(c), f.start, args))
		return true;
	c->ns = now - f.start;
	c->ended = now;
	c->on_cpu = c->ns;
	for (i = 0; plumb_config.off_cpu && i < PLUMB_FRAME_PARTS; i++) {
		c->off[i] -= f.off[i];
		/* Clocks of CPUs can differ a little. */
		if (c->off[i] > c->on_cpu)
			c->off[i] = c->on_cpu;
		c->on_cpu -= c->off[i];
	}
	c->args = f.args;
	function_finish(task, c);
	return true;
}

static __always_inline bool function_pop(struct task_struct *task, struct function_call *c,
					 __u64 place, __u64 now, const __u64 *args)
{
	return function_pop_from(inflight_get(task), task, c, place, now, args);
}

/* The exit of a call without a cookie. ARGS are NULL if the hook does not have them at exit. */
static __always_inline void function_leave(__u64 target, __u64 place, const __u64 *args, long ret)
{
	struct function_call c = {.target = target, .ret = ret};
	struct task_struct *task = current_task();

	if (filter_thread(task) && !function_pop(task, &c, place, bpf_ktime_get_ns(), args))
		function_unmatched(task, target, args);
}

/* Entry and exit of a call with a cookie, which is 0 before the entry. */

static __always_inline bool function_enter_session(__u64 *cookie, const __u64 *args)
{
	struct task_struct *task = current_task();

	if (!filter_thread(task) || !function_begins(task, FUNCTION_OWN, args)) {
		*cookie = PLUMB_CALL_REJECTED;
		return false;
	}
	ledger_count(bpf_get_smp_processor_id(), began);
	*cookie = bpf_ktime_get_ns();
	return true;
}

/* Compute how long the call took. False: it was rejected, or its entry was missed. */
static __always_inline bool function_took(const __u64 *cookie, __u64 *ns)
{
	const volatile __u64 *start = cookie; /* loaded again: cheaper than to keep it */
	__u64 took;

	if (unlikely(*start <= PLUMB_CALL_REJECTED))
		return false;
	took = bpf_ktime_get_ns() - *start;
	barrier_var(took); /* computed here, not where it is used */
	*ns = took;
	return true;
}

static __always_inline void function_leave_session(__u64 target, __u64 ns, const __u64 *args,
						   long ret)
{
	struct function_call c = {
		.target = target, .args = args, .ns = ns, .on_cpu = ns, .ret = ret};

	function_finish(current_task(), &c);
}

static __always_inline void function_missed(__u64 target, const __u64 *args)
{
	struct task_struct *task = current_task();

	if (filter_thread(task))
		function_unmatched(task, target, args);
}

/* As function_leave(), of a session whose calls are in frames. */
static __always_inline void function_leave_framed(__u64 target, __u64 place, const __u64 *args,
						  long ret, const __u64 *cookie)
{
	if (!*cookie)
		function_missed(target, args);
	else if (*cookie > PLUMB_CALL_REJECTED)
		function_leave(target, place, args, ret);
}

/* The exit of a call that may be in an in-flight slot, of this CPU or another. */
static __always_inline void function_leave_inflight_slot(__u64 target, const __u64 *ctx,
							 const __u64 *args, long ret)
{
	struct function_call c = {.target = target, .ret = ret};
	struct task_struct *task = current_task();
	__u64 place = function_place(ctx), now;
	struct plumb_inflight_call_slot *inflight_slot;

	if (!filter_thread(task))
		return;
	now = bpf_ktime_get_ns();
	inflight_slot = inflight_call_slot(place, bpf_get_smp_processor_id());
	if (!inflight_slot->start || inflight_slot->place != (__u64)ctx) {
		if (function_pop(task, &c, place, now, args))
			return;
		inflight_slot = inflight_call_slot_elsewhere(ctx, place);
	}
	if (inflight_slot)
		function_free_inflight_slot(task, &c, inflight_slot, now, args);
	else
		function_unmatched(task, target, args);
}
