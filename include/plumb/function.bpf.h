/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * function, BPF face: calls of kernel functions, timed by whatever the kernel has.
 *
 * A tool says which arguments it needs (FUNCTION_ARG_0 and perhaps FUNCTION_ARG_1,
 * their positions), includes this, and defines
 *
 *	bool function_wanted(struct task_struct *, const __u64 *args)
 *	void function_record(struct task_struct *, const struct function_call *)
 *
 * The programs at the end of this file are thin: each finds the two ends of a
 * call in the words of its hook.  Those that use sessions are an object of their
 * own, because libbpf refuses an object that declares a kernel function which
 * the kernel does not have in that form.  A tool's NAME-session-610.bpf.c and -700
 * are its NAME.bpf.c with PLUMB_SESSION set to the first kernel of that form.
 */
#ifndef PLUMB_FUNCTION_BPF_H
#define PLUMB_FUNCTION_BPF_H

#include <plumb/frames.bpf.h>
#include <plumb/filter.bpf.h>
#include <plumb/function.h>
#include <plumb/guard.bpf.h>
#include <plumb/target.bpf.h>

struct function_call {
	__u64 target;      /* see call_target() */
	const __u64 *args; /* to be looked at where function_config.takes_args */
	__u64 ns;
	__u64 on_cpu; /* ns; where plumb_config.off_cpu asks for it */
	long ret;
	__u32 error; /* positive errno, 0 for success */
};

static __always_inline bool function_wanted(struct task_struct *task, const __u64 *args);
static __always_inline void function_record(struct task_struct *task,
					    const struct function_call *call);

/* In place of the target: the program's own, a number in it, which nothing need keep. */
#define FUNCTION_OWN (~0ULL)

static __always_inline __u64 call_target(const struct function_call *c)
{
	return c->target == FUNCTION_OWN ? function_own_target() : c->target;
}

/* The result, of as many bits as it has. */
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

/* The time, and how long the thread had no CPU until then: of one instant, also if preempted. */
static __always_inline __u64 function_now(struct plumb_thread *t, __u64 *off)
{
	volatile __u64 *off_cpu = &t->off_cpu;
	__u64 now = bpf_ktime_get_ns();
	__u32 i;

	if (!plumb_config.off_cpu)
		return now;
	*off = *off_cpu;
	for (i = 0; i < 3; i++) {
		now = bpf_ktime_get_ns();
		if (*off == *off_cpu)
			break;
		*off = *off_cpu;
	}
	return now;
}

static __always_inline bool function_push(struct task_struct *task, __u64 target, __u64 place,
					  const __u64 *args)
{
	struct plumb_thread *t = inflight_make(task);
	__u32 cpu = bpf_get_smp_processor_id(), stale, i;
	struct plumb_frame *f;

	if (!t) {
		ledger_count(cpu, no_state);
		return false;
	}
	f = frame_push(t, place, &stale);
	if (stale)
		ledger_add(cpu, overwritten, stale);
	if (!f) {
		ledger_count(cpu, too_deep);
		return false;
	}
	ledger_count(cpu, began);
	f->target = target;
	for (i = 0; i < PLUMB_FUNCTION_ARGS; i++)
		f->args[i] = args[i];
	f->start = function_now(t, &f->off);
	*(volatile __u64 *)&f->place = place;
	return true;
}

/*
 * Where the context of a program of fentry's kind lies: in the call's own frame,
 * at both ends.  Its lower half, since that makes a number of a pointer.
 */
static __always_inline __u64 function_place(const __u64 *ctx)
{
	__u32 place;

	asm("%0 = %1" : "=w"(place) : "w"((__u32)(__u64)ctx));
	return place;
}

/*
 * Seats, for the two ends of fentry's kind; with them no thread's state is asked
 * for, nor the kernel at what CPU a call was before.
 */

static __always_inline bool function_sit(const __u64 *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_call_seat *s = call_seat(function_place(ctx), cpu);

	if (s->start) {
		if (s->place != (__u64)ctx)
			return false;
		/* Its own place: the call that had it is over, its end was missed. */
		if (s->start > PLUMB_CALL_REJECTED)
			ledger_count(cpu, overwritten);
	}
	ledger_count(cpu, began);
	s->place = (__u64)ctx;
	s->start = bpf_ktime_get_ns();
	return true;
}

/* So that its end need not look for it elsewhere. */
static __always_inline void function_sit_rejected(const __u64 *ctx)
{
	struct plumb_call_seat *s = call_seat(function_place(ctx), bpf_get_smp_processor_id());

	if (!s->start) {
		s->place = (__u64)ctx;
		s->start = PLUMB_CALL_REJECTED;
	}
}

/* The beginning of a call; false: its end is of no interest. */
static __always_inline bool function_enter(__u64 target, __u64 place, const __u64 *args)
{
	struct task_struct *task = current_task();

	return filter_thread(task) && filter_entry(task) && function_wanted(task, args) &&
	       function_push(task, target, place, args);
}

static __always_inline void function_finish(struct task_struct *task, struct function_call *c)
{
	c->error = function_error(call_target(c), c->ret);
	if (unlikely((function_config.only_errors && !c->error) || c->ns < function_config.min_ns))
		ledger_count(bpf_get_smp_processor_id(), left_out);
	else
		function_record(task, c);
}

/* An end whose beginning was not seen.  Is it one that should have been? */
static __always_inline void function_unmatched(struct task_struct *task, const __u64 *args)
{
	/* A filter by arguments cannot be asked without them. */
	if (!args && function_config.takes_args)
		return;
	if (plumb_live && filter_entry(task) && function_wanted(task, args))
		ledger_count(bpf_get_smp_processor_id(), unmatched);
}

/* The call sat here. */
static __always_inline void function_rise(struct task_struct *task, struct function_call *c,
					  struct plumb_call_seat *seat, __u64 now,
					  const __u64 *args)
{
	__u64 start = seat->start;

	seat->start = 0;
	if (start == PLUMB_CALL_REJECTED)
		return;
	c->ns = c->on_cpu = now - start; /* who asks for less has frames */
	c->args = args;
	function_finish(task, c);
}

/* The call is on the thread's stack of frames; is it? */
static __always_inline bool function_pop(struct task_struct *task, struct function_call *c,
					 __u64 place, __u64 now)
{
	struct plumb_thread *t = inflight_get(task);
	struct plumb_frame f;
	__u64 off = 0;
	__u32 stale;

	if (!t)
		return false;
	if (plumb_config.off_cpu)
		now = function_now(t, &off);
	if (!frame_pop(t, call_target(c), place, &f, &stale)) {
		if (!t->deeper)
			return false;
		t->deeper--;
		return true;
	}
	if (stale)
		ledger_add(bpf_get_smp_processor_id(), overtaken, stale);
	c->ns = now - f.start;
	c->on_cpu = c->ns - (off - f.off);
	c->args = f.args;
	function_finish(task, c);
	return true;
}

/*
 * The end of a call that has no cookie.  ARGS are NULL where the hook does not
 * have them any more.
 */
static __always_inline void function_leave(__u64 target, __u64 place, const __u64 *args, long ret)
{
	struct function_call c = {.target = target, .ret = ret};
	struct task_struct *task = current_task();

	if (filter_thread(task) && !function_pop(task, &c, place, bpf_ktime_get_ns()))
		function_unmatched(task, args);
}

/* The two ends of a call that has a cookie.  It is zeroed for each call. */

static __always_inline bool function_enter_session(__u64 *cookie, const __u64 *args)
{
	struct task_struct *task = current_task();

	if (!filter_thread(task) || !filter_entry(task) || !function_wanted(task, args)) {
		*cookie = PLUMB_CALL_REJECTED;
		return false;
	}
	ledger_count(bpf_get_smp_processor_id(), began);
	*cookie = bpf_ktime_get_ns();
	return true;
}

/* How long was the call?  False: it is of no interest, or its beginning was missed. */
static __always_inline bool function_took(const __u64 *cookie, __u64 *ns)
{
	const volatile __u64 *start = cookie; /* loaded again: cheaper than to keep */
	__u64 took;

	if (unlikely(*start <= PLUMB_CALL_REJECTED))
		return false;
	took = bpf_ktime_get_ns() - *start;
	barrier_var(took); /* now, not when it is used */
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

static __always_inline void function_missed(const __u64 *args)
{
	struct task_struct *task = current_task();

	if (filter_thread(task))
		function_unmatched(task, args);
}

/* The end of a call that may have sat, here or elsewhere. */
static __always_inline void function_leave_seat(__u64 target, const __u64 *ctx, const __u64 *args,
						long ret)
{
	struct function_call c = {.target = target, .ret = ret};
	struct task_struct *task = current_task();
	__u64 place = function_place(ctx), now;
	struct plumb_call_seat *seat;

	if (!filter_thread(task))
		return;
	now = bpf_ktime_get_ns();
	seat = call_seat(place, bpf_get_smp_processor_id());
	if (!seat->start || seat->place != (__u64)ctx) {
		if (function_pop(task, &c, place, now))
			return;
		seat = call_seat_elsewhere(ctx, place);
	}
	if (seat)
		function_rise(task, &c, seat, now, args);
	else
		function_unmatched(task, args);
}

/*
 * Where a call lies, at a kretprobe and its kind, where it was PT_REGS_SP(): on x86 the
 * return address is gone from the stack (seen with each of them, 5.10 to 7.2).
 * 0, not known: then the innermost call of the function is taken.
 */
static __always_inline __u64 function_left_place(const struct pt_regs *ctx)
{
#if defined(__TARGET_ARCH_x86)
	return PT_REGS_SP(ctx) - 8;
#else
	(void)ctx;
	return 0;
#endif
}

/*
 * Word N of the context of a program of fentry's kind.  As assembler, since the
 * verifier takes constant offsets only and clang would compute them.
 */
#define FUNCTION_CTX_WORD(n)                                                                       \
	case n:                                                                                    \
		asm("%0 = *(u64 *)(%1 + %2)" : "=r"(v) : "r"(ctx), "i"(8 * (n)));                  \
		break

static __always_inline __u64 function_ctx(const __u64 *ctx, __u32 n)
{
	__u64 v = 0, copy;

	/* Copied, a pointer is a number. */
	if (unlikely(n & PLUMB_POINTER)) {
		bpf_probe_read_kernel(&copy, sizeof(copy), ctx + (n & ~PLUMB_POINTER));
		return copy;
	}
	switch (n) {
		FUNCTION_CTX_WORD(0);
		FUNCTION_CTX_WORD(1);
		FUNCTION_CTX_WORD(2);
		FUNCTION_CTX_WORD(3);
		FUNCTION_CTX_WORD(4);
		FUNCTION_CTX_WORD(5);
		FUNCTION_CTX_WORD(6);
		FUNCTION_CTX_WORD(7);
		FUNCTION_CTX_WORD(8);
		FUNCTION_CTX_WORD(9);
		FUNCTION_CTX_WORD(10);
		FUNCTION_CTX_WORD(11);
		FUNCTION_CTX_WORD(12);
	default:
		break;
	}
	return v;
}

/* The same of registers at a function's beginning: the arguments that are passed in them. */
#define FUNCTION_REGISTER(n, name)                                                                 \
	case n:                                                                                    \
		asm("%0 = *(u64 *)(%1 + %2)"                                                       \
		    : "=r"(v)                                                                      \
		    : "r"(regs), "i"(__builtin_offsetof(__typeof__(*regs), name)));                \
		break

static __always_inline __u64 function_register(const struct pt_regs *ctx, __u32 n)
{
	__u64 v = 0;

#if defined(__TARGET_ARCH_x86)
	const struct pt_regs *regs = ctx;

	switch (n & ~PLUMB_POINTER) {
		FUNCTION_REGISTER(0, di);
		FUNCTION_REGISTER(1, si);
		FUNCTION_REGISTER(2, dx);
		FUNCTION_REGISTER(3, cx);
		FUNCTION_REGISTER(4, r8);
		FUNCTION_REGISTER(5, r9);
#elif defined(__TARGET_ARCH_arm64)
	const struct user_pt_regs *regs = (const struct user_pt_regs *)ctx;

	switch (n & ~PLUMB_POINTER) {
		FUNCTION_REGISTER(0, regs[0]);
		FUNCTION_REGISTER(1, regs[1]);
		FUNCTION_REGISTER(2, regs[2]);
		FUNCTION_REGISTER(3, regs[3]);
		FUNCTION_REGISTER(4, regs[4]);
		FUNCTION_REGISTER(5, regs[5]);
#else
#error "which registers hold the arguments on this architecture?"
#endif
	default:
		break;
	}
	return v;
}

/* A twin's function has other arguments than those that the tool knows. */
#define FUNCTION_ARG(get, ctx, n) (unlikely(function_config.twin) ? 0 : get(ctx, n))
#ifdef FUNCTION_ARG_1
#define FUNCTION_ARGS(get, ctx)                                                                    \
	{                                                                                          \
		FUNCTION_ARG(get, ctx, FUNCTION_ARG_0), FUNCTION_ARG(get, ctx, FUNCTION_ARG_1)     \
	}
#else
#define FUNCTION_ARGS(get, ctx)                                                                    \
	{                                                                                          \
		FUNCTION_ARG(get, ctx, FUNCTION_ARG_0)                                             \
	}
#endif

/* The target of a program that is attached to many functions at once. */
#define function_target(ctx)                                                                       \
	(~function_config.target ? function_config.target : bpf_get_attach_cookie(ctx))

/* What a program of fentry's kind finds in its context. */
static __always_inline void fentry_args(const __u64 *ctx, __u64 *args)
{
	if (function_config.takes_args) {
		const __u64 all[PLUMB_FUNCTION_ARGS] = FUNCTION_ARGS(function_ctx, ctx);

		args[0] = all[0];
		args[1] = all[1];
	}
	asm volatile("" : : "r"(args) : "memory"); /* in no registers, which are few */
}

#define fentry_result(ctx, target) function_ctx(ctx, PLUMB_TARGET_RESULT_AT(target))

#if !PLUMB_SESSION

static __always_inline void function_enter_fentry(__u64 target, __u64 *ctx)
{
	__u64 args[PLUMB_FUNCTION_ARGS] = FUNCTION_ARGS(function_ctx, ctx);
	struct task_struct *task = current_task();

	if (!filter_thread(task))
		return;
	if (!filter_entry(task) || !function_wanted(task, args)) {
		if (function_config.seats)
			function_sit_rejected(ctx);
	} else if (!function_config.seats || !function_sit(ctx)) {
		function_push(task, target, function_place(ctx), args);
	}
}

static __always_inline void function_leave_fentry(__u64 target, __u64 *ctx)
{
	__u64 args[PLUMB_FUNCTION_ARGS] = FUNCTION_ARGS(function_ctx, ctx);
	long ret = function_ctx(ctx, PLUMB_TARGET_RESULT_AT(target));

	if (function_config.seats)
		function_leave_seat(target, ctx, args, ret);
	else
		function_leave(target, function_place(ctx), args, ret);
}

SEC("fentry")
int fentry_enter(__u64 *ctx)
{
	if (guard_enter()) {
		function_enter_fentry(function_own_target(), ctx);
		guard_leave();
	}
	return 0;
}

SEC("fexit")
int fentry_leave(__u64 *ctx)
{
	if (guard_enter()) {
		function_leave_fentry(function_own_target(), ctx);
		guard_leave();
	}
	return 0;
}

SEC("kprobe")
int kprobe_enter(struct pt_regs *ctx)
{
	__u64 args[PLUMB_FUNCTION_ARGS] = FUNCTION_ARGS(function_register, ctx);

	function_enter(function_own_target(), PT_REGS_SP(ctx), args);
	return 0;
}

SEC("kretprobe")
int kprobe_leave(struct pt_regs *ctx)
{
	function_leave(function_own_target(), function_left_place(ctx), NULL, PT_REGS_RC(ctx));
	return 0;
}

SEC("kprobe.multi")
int multi_enter(struct pt_regs *ctx)
{
	__u64 args[PLUMB_FUNCTION_ARGS] = FUNCTION_ARGS(function_register, ctx);

	function_enter(function_target(ctx), PT_REGS_SP(ctx), args);
	return 0;
}

SEC("kretprobe.multi")
int multi_leave(struct pt_regs *ctx)
{
	function_leave(function_target(ctx), function_left_place(ctx), NULL, PT_REGS_RC(ctx));
	return 0;
}

#else

#if PLUMB_SESSION < 700 /* from 6.10 on */
extern bool bpf_session_is_return(void) __ksym;
extern __u64 *bpf_session_cookie(void) __ksym;
#define session_is_return(ctx) bpf_session_is_return()
#define session_cookie(ctx)    bpf_session_cookie()
#else
extern bool bpf_session_is_return(void *ctx) __ksym;
extern __u64 *bpf_session_cookie(void *ctx) __ksym;
#define session_is_return(ctx) bpf_session_is_return(ctx)
#define session_cookie(ctx)    bpf_session_cookie(ctx)

/* With frames there are no cookies.  Of its own, so that the others do without its registers. */
static __noinline int fsession_framed(__u64 *ctx)
{
	__u64 args[PLUMB_FUNCTION_ARGS] = FUNCTION_ARGS(function_ctx, ctx);
	__u64 target = function_own_target();

	if (session_is_return(ctx))
		function_leave(target, function_place(ctx), args, fentry_result(ctx, target));
	else
		function_enter(target, function_place(ctx), args);
	return 0;
}

/* What is not needed before the clock is read is asked for behind it. */
SEC("fentry")
int fsession(__u64 *ctx)
{
	__u64 *cookie, ns, args[PLUMB_FUNCTION_ARGS];

	if (unlikely(function_config.frames))
		return fsession_framed(ctx);
	cookie = session_cookie(ctx);
	if (!session_is_return(ctx)) {
		fentry_args(ctx, args);
		function_enter_session(cookie, args);
	} else if (function_took(cookie, &ns)) {
		fentry_args(ctx, args);
		function_leave_session(FUNCTION_OWN, ns, args,
				       fentry_result(ctx, function_own_target()));
	} else if (!*cookie) {
		fentry_args(ctx, args);
		function_missed(args);
	}
	return 0;
}

SEC("fsession.multi")
int fsession_multi(__u64 *ctx)
{
	__u64 args[PLUMB_FUNCTION_ARGS] = FUNCTION_ARGS(function_ctx, ctx);
	__u64 target = function_target(ctx), ret = 0, *cookie, ns;

	if (unlikely(function_config.frames)) {
		if (session_is_return(ctx)) {
			bpf_get_func_ret(ctx, &ret);
			function_leave(target, function_place(ctx), args, ret);
		} else {
			function_enter(target, function_place(ctx), args);
		}
		return 0;
	}
	cookie = session_cookie(ctx);
	if (!session_is_return(ctx)) {
		function_enter_session(cookie, args);
	} else if (function_took(cookie, &ns)) {
		bpf_get_func_ret(ctx, &ret);
		function_leave_session(target, ns, args, ret);
	} else if (!*cookie) {
		function_missed(args);
	}
	return 0;
}
#endif

/* 1 from the beginning of a call: the kernel need not come back at its end. */
SEC("kprobe.multi")
int kprobe_session(struct pt_regs *ctx)
{
	const __u64 none[PLUMB_FUNCTION_ARGS] = {};
	__u64 target = function_target(ctx), *cookie, ns;

	if (session_is_return(ctx)) {
		if (unlikely(function_config.frames)) {
			function_leave(target, function_left_place(ctx), NULL, PT_REGS_RC(ctx));
			return 0;
		}
		cookie = session_cookie(ctx);
		if (function_took(cookie, &ns))
			function_leave_session(target, ns, none, PT_REGS_RC(ctx));
		else if (!*cookie)
			function_missed(NULL);
	} else {
		__u64 args[PLUMB_FUNCTION_ARGS] = FUNCTION_ARGS(function_register, ctx);

		if (unlikely(function_config.frames))
			return !function_enter(target, PT_REGS_SP(ctx), args);
		return !function_enter_session(session_cookie(ctx), args);
	}
	return 0;
}

#endif

/* A thread inside a call gives its CPU away, and gets one again. */
static __always_inline void function_switched(struct plumb_thread *leaves,
					      struct plumb_thread *comes)
{
	__u64 now;

	if (!(leaves && leaves->depth) && !(comes && comes->off_since))
		return;
	now = bpf_ktime_get_ns();
	if (leaves && leaves->depth)
		leaves->off_since = now;
	if (comes && comes->off_since) {
		comes->off_cpu += now - comes->off_since;
		comes->off_since = 0;
	}
}

/* Where there is task storage: for another thread than the current one it takes typed arguments. */
SEC("tp_btf/sched_switch")
int thread_switch_btf(__u64 *ctx)
{
	struct task_struct *leaves = (struct task_struct *)ctx[1];
	struct task_struct *comes = (struct task_struct *)ctx[2];

	function_switched(inflight_get(leaves), inflight_get(comes));
	return 0;
}

SEC("raw_tp/sched_switch")
int thread_switch_raw(struct bpf_raw_tracepoint_args *ctx)
{
	function_switched(inflight_get((struct task_struct *)ctx->args[1]),
			  inflight_get((struct task_struct *)ctx->args[2]));
	return 0;
}

#endif
