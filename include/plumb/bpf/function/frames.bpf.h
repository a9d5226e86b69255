/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * frames: the calls of kernel functions that a thread is inside, innermost last.
 *
 * A function can call itself, and an interrupt can call it on top of a thread that is inside it. In
 * both cases the last call to begin is the first to end, so a thread has a stack of them. A call
 * whose exit was missed leaves a frame behind. It is detected by its place in the kernel stack: a
 * call that begins is deeper in the stack than all calls in flight there, except those that end in
 * a jump to it.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/function/function.h>
#include <plumb/bpf/sched/return.h>
#include <plumb/bpf/sched/split.h>
#include <plumb/bpf/core/ledger.bpf.h>

const volatile struct function_config function_config = {};

/* In place of its start: the call was rejected at its entry. */
#define PLUMB_CALL_REJECTED 1

/* Nested calls, a power of two. Deeper ones are counted, not timed. */
#if defined(PLUMB_PAIRS)
#define PLUMB_FRAMES 16 /* a pair has none inside; for fewer, clang makes code that is refused */
#elif defined(PLUMB_GO)
#define PLUMB_FRAMES 32 /* there are more goroutines than threads */
#elif defined(PLUMB_USER_FUNCTIONS)
#define PLUMB_FRAMES 64 /* as many returns the kernel keeps of a thread (MAX_URETPROBE_DEPTH) */
#else
#define PLUMB_FRAMES 16
#endif

/* The time off the CPU of a call: by part (split.h), or, of kernel functions, the sum. */
#ifdef PLUMB_USER_FUNCTIONS
#define PLUMB_FRAME_PARTS PLUMB_PARTS
#else
#define PLUMB_FRAME_PARTS 1
#endif

struct plumb_frame {
	__u64 place;  /* address of the call's own frame in the kernel stack; 0: not known yet */
	__u64 target; /* the function, as in function.h */
	__u64 start;  /* ns, CLOCK_MONOTONIC */
	__u64 off[PLUMB_FRAME_PARTS]; /* the thread's at that time */
	__u64 args[PLUMB_FUNCTION_ARGS];
};

struct function_thread {
	__u32 depth;
	__u32 deeper;                 /* calls beyond the last frame */
	__u64 off[PLUMB_FRAME_PARTS]; /* ns off the CPU while inside a call */
	__u64 left;                   /* when it left its CPU; 0: it has one */
	__u64 woken;                  /* when it was last woken; 0: since then it had a CPU */
	__u32 preempted;              /* it left its CPU though it could have run on */
	__u32 returns;                /* how often it got a CPU back: a change is seen by this */
#ifdef FUNCTION_LAST
	struct plumb_return ret; /* of the last call that ended (sched/return.bpf.h), */
	FUNCTION_LAST last;      /* and what a tool that defines it keeps of that */
#endif
	struct plumb_frame frames[PLUMB_FRAMES];
};

#define PLUMB_THREAD struct function_thread
#include <plumb/bpf/core/inflight.bpf.h>

/*
 * Return the frame below DEPTH, or NULL. The mask is for the verifier: clang takes the address
 * before it compares.
 */
static __always_inline struct plumb_frame *frame_below(struct function_thread *t, __u32 depth)
{
	__u64 at = depth - 1;
	__u64 masked = at & (PLUMB_FRAMES - 1);

	barrier_var(masked);
	return at < PLUMB_FRAMES ? &t->frames[masked] : NULL;
}

#ifdef PLUMB_USER_FUNCTIONS

/*
 * Of user functions: when a call is over whose return was not seen.
 *
 * The place of a call is the stack pointer at its entry. The kernel drops the return of a call as
 * soon as a call begins at a higher place (longjmp() or an exception has ended the first one), and
 * so do these. Like the kernel's own uretprobes, this assumes that a thread has one stack: a signal
 * stack has to be below the stack on which the signal arrives.
 */
/* Their threads left the calls without returning from them. */
#define frames_left        abandoned
#define frames_left_nested abandoned

static __always_inline bool frame_is_within(const struct plumb_frame *f, __u64 place)
{
	return f->place && f->place <= place;
}

/*
 * Whether the call that begins at PLACE returns to where the kernel has its return probes: it was
 * entered by a jump from another traced call, and both end together.
 */
static __always_inline bool frame_is_chained(__u64 place)
{
#if defined(PLUMB_GO)
	(void)place; /* no function that ends in a jump is traced, and there are no return probes */
	return false;
#elif defined(__TARGET_ARCH_x86)
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr), to = 0;

	bpf_probe_read_user(&to, sizeof(to), (void *)place);
	if (trampoline == (__u32)trampoline) /* of a 32-bit process */
		to = (__u32)to;
	return to == trampoline;
#else
	struct user_pt_regs *regs; /* the return address is in a register */
	struct task_struct *task;
	__u64 to = 0;

	/* Kernels before 5.15 do not give the registers: such calls are not distinguished there. */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return false;
	task = bpf_get_current_task_btf();
	regs = (struct user_pt_regs *)bpf_task_pt_regs(task);
	bpf_probe_read_kernel(&to, sizeof(to), &regs->regs[30]);
	return to == BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
#endif
}

/* Whether F, at PLACE or deeper, was left behind, when a call begins there. */
static __always_inline bool frame_is_over(const struct plumb_frame *f, __u64 place, __u64 target)
{
	return f->place != place || !frame_is_chained(place);
}

/*
 * A child of fork() returns from the calls that its parent was inside: no calls of its own.  (A new
 * thread of Go takes over goroutines that began calls before, a new process does not.)
 */
static __always_inline bool frames_are_inherited(struct task_struct *task)
{
#if defined(PLUMB_PAIRS)
	return false; /* a DONE is no return */
#elif defined(PLUMB_GO)
	return BPF_CORE_READ(task, group_leader, start_time) > function_config.since;
#else
	return BPF_CORE_READ(task, start_time) > function_config.since;
#endif
}

#else

/* The counters of calls that left a frame behind, found at an entry and at an exit. */
#define frames_left        exit_lost
#define frames_left_nested exit_lost_nested

/* Kernel stacks, including those of interrupts, are 16 kB and aligned to 16 kB. */
static __always_inline bool frame_is_within(const struct plumb_frame *f, __u64 place)
{
	return f->place && f->place >> 14 == place >> 14 && f->place <= place;
}

/* Whether F, at PLACE or deeper, was left behind, when a call of TARGET begins there. */
static __always_inline bool frame_is_over(const struct plumb_frame *f, __u64 place, __u64 target)
{
	return f->place != place || f->target == target;
}
#endif

/*
 * Return how many frames are of calls in flight, when a call of TARGET begins at PLACE.
 *
 * Calls deeper than PLACE have ended. A call at PLACE may not have: if a function ends in a jump to
 * another (a tail call), the second begins at the place of the first, and both end together, the
 * inner one first. (With fentry and fsession it is deeper, by the trampoline's frame.) So a frame
 * of another function at PLACE stays, and the exit finds it by its function. A frame of the same
 * function is taken to be left behind, with all above it: if the exits of two functions are missed
 * again and again, for example because more threads sleep in them than there are kretprobes, one
 * frame of each is kept.
 *
 * Not distinguished: a function that returns to its own beginning by jumps alone. Only the
 * innermost of these calls is timed; the others are counted as exit_lost and unmatched. A frame
 * that another function left behind looks like the caller until that function, or one above it, is
 * called there again; the time of no call depends on that.
 */
static __always_inline __u32 frames_going_on(struct function_thread *t, __u64 place, __u64 target)
{
	__u32 depth = t->depth, going_on = depth, i;
	struct plumb_frame *f;

	for (i = 0; i < PLUMB_FRAMES; i++) {
		f = frame_below(t, depth);
		if (!f || !frame_is_within(f, place))
			break;
		depth--;
		if (frame_is_over(f, place, target))
			going_on = depth;
	}
	return going_on;
}

/*
 * Return a frame for the call of TARGET that begins at PLACE; NULL if all are taken. STALE is the
 * number of frames found whose exit was missed.
 *
 * An interrupt may arrive between any two lines of this function and use the same stack; it leaves
 * the stack as it was. So the depth is raised before the frame is written, and a frame without a
 * place is ignored.
 */
static __always_inline struct plumb_frame *frame_push(struct function_thread *t, __u64 place,
						      __u64 target, __u32 *stale)
{
	__u32 depth = frames_going_on(t, place, target);
	struct plumb_frame *f = frame_below(t, depth + 1);

	*stale = t->depth - depth;
	if (!f) {
		t->deeper++;
		return NULL;
	}
	*(volatile __u64 *)&f->place = 0;
	*(volatile __u32 *)&t->depth = depth + 1;
	t->deeper = 0;
	return f;
}

/*
 * Pop the frame of the call that ends into F: the innermost of this function, and at PLACE if that
 * is known (else 0). STALE as above.
 */
static __always_inline bool frame_pop(struct function_thread *t, __u64 target, __u64 place,
				      struct plumb_frame *f, __u32 *stale)
{
	__u32 depth = t->depth, i;
	struct plumb_frame *top;

	for (i = 0; i < PLUMB_FRAMES; i++) {
		top = frame_below(t, depth);
		if (!top)
			return false;
		if (top->place && top->target == target && (!place || top->place == place)) {
			*f = *top;
			top->place = 0;
			*(volatile __u32 *)&t->depth = depth - 1;
			*stale = i;
			return true;
		}
		depth--;
	}
	return false;
}

/*
 * In-flight slots: if both ends of a call have the same context, calls of one function are kept in
 * these, as long as one is free, and no thread state is looked up. A CPU's slots are taken only on
 * that CPU, by one program, which cannot interrupt itself there. A call that ends on another CPU
 * frees its slot there.
 */
#define PLUMB_INFLIGHT_CALL_SLOT_BITS 4 /* for each CPU */

struct plumb_inflight_call_slot {
	__u64 place;    /* address of the context: no other call in flight has it */
	__u64 start;    /* 0: free */
	__u32 pid, tid; /* for the loader */
};

static struct plumb_inflight_call_slot
	plumb_inflight_call_slots[PLUMB_LEDGERS << PLUMB_INFLIGHT_CALL_SLOT_BITS] = {};

/*
 * The in-flight slot on CPU for a call at this place; the lower half of the place is enough to
 * choose.
 */
static __always_inline struct plumb_inflight_call_slot *inflight_call_slot(__u32 place, __u32 cpu)
{
	/* Knuth, vol. 3, 6.4 */
	__u64 n = place * 0x9e3779b9U >> (32 - PLUMB_INFLIGHT_CALL_SLOT_BITS);

	return &plumb_inflight_call_slots[ledger_index(cpu, n, PLUMB_INFLIGHT_CALL_SLOT_BITS)];
}

/* Return the in-flight slot that the call with this context took on another CPU, or NULL. */
static __always_inline struct plumb_inflight_call_slot *
inflight_call_slot_elsewhere(const __u64 *ctx, __u32 place)
{
	struct plumb_inflight_call_slot *s;
	__u32 cpu;

	for (cpu = 0; cpu < PLUMB_LEDGERS && cpu < plumb_config.cpus; cpu++) {
		s = inflight_call_slot(place, cpu);
		if (s->start && s->place == (__u64)ctx)
			return s;
	}
	return NULL;
}

/* Free the in-flight slots of calls on this stack; return their number. */
static __always_inline __u32 inflight_call_slots_clear(__u64 stack)
{
	struct plumb_inflight_call_slot *s;
	__u32 i, n = 0;

	for (i = 0; i < PLUMB_LEDGERS << PLUMB_INFLIGHT_CALL_SLOT_BITS &&
		    i < plumb_config.cpus << PLUMB_INFLIGHT_CALL_SLOT_BITS;
	     i++) {
		s = &plumb_inflight_call_slots[i];
		if (!s->start || s->place >> 14 != stack >> 14)
			continue;
		n += s->start > PLUMB_CALL_REJECTED;
		s->start = 0;
	}
	return n;
}

/*
 * At the exit of the thread: return the number of calls that it is inside. T is NULL if it has no
 * state.
 */
static __always_inline __u32 inflight_clear(struct function_thread *t, struct task_struct *task)
{
	__u32 n = 0;

	if (function_config.inflight_slots)
		n = inflight_call_slots_clear((__u64)BPF_CORE_READ(task, stack));
	if (t) {
		n += t->depth;
		t->depth = 0;
	}
	return n;
}
