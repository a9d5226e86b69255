/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stack, BPF side: the stack of a thread, as a number.
 *
 * The kernel has stack maps, in which a stack that hashes to the place of another one is lost: a
 * hundred of 2,000 different ones in 16,384 places. So stacks are kept in a hash table here, which
 * loses none before it is full.
 */
#pragma once

#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/stack/stacks.h>
#include <plumb/bpf/stack/unwind.bpf.h>

PLUMB_MAP(plumb_stacks, HASH, 64 /* set by the loader, except in a calibration instance */, __s32,
	  struct plumb_stack);

/*
 * The free ones, if programs can interrupt each other (plumb_config.interleaved): a program that is
 * preempted while it takes a stack keeps its own.
 */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1); /* set by the loader, which fills it */
	__type(value, __u32);
} plumb_stack_free SEC(".maps");

/*
 * Processes that the loader has to inspect while they live, so that their addresses still have
 * names after their exit. The loader is notified of each new stack of a process, since the process
 * may have mapped a file in the meantime.
 */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 10);
} plumb_processes SEC(".maps");

/* The number of attempts to find a free number for a stack. */
#define STACK_NUMBERS 4

static __always_inline struct plumb_stack *stack_keep(__s32 number, struct plumb_stack *taken)
{
	struct plumb_stack *kept = bpf_map_lookup_elem(&plumb_stacks, &number);

	if (kept)
		return kept;
	/* The table is full, or another CPU was first. */
	bpf_map_update_elem(&plumb_stacks, &number, taken, BPF_NOEXIST);
	return bpf_map_lookup_elem(&plumb_stacks, &number);
}

/*
 * A function that has made no frame yet, or never does, is not followed by its caller, unless the
 * kernel knows where to look for it: from 6.11 on it does for some.  Its address is the second.
 */
static __always_inline void stack_add_caller(void *ctx, __u64 flags, __u64 caller,
					     struct plumb_stack *taken)
{
	long size;

	if (taken->n > 1 && taken->addresses[1] == caller)
		return;
	size = bpf_get_stack(ctx, &taken->addresses[2],
			     sizeof(taken->addresses) - 2 * sizeof(taken->addresses[0]), flags | 1);
	taken->addresses[1] = caller;
	taken->n = 2 + (size > 0 ? size / sizeof(taken->addresses[0]) : 0);
}

/*
 * Takes the user stack of the current thread by frame pointers; CALLER: where the innermost
 * function returns to; 0: not known.
 */
static __always_inline long stack_by_frames(void *ctx, __u64 flags, __u64 caller,
					    struct plumb_stack *taken)
{
	long size = bpf_get_stack(ctx, taken->addresses, sizeof(taken->addresses), flags);

	if (size <= 0) /* a kernel thread has no user stack */
		return 0;
	taken->n = size / sizeof(taken->addresses[0]);
	if (caller)
		stack_add_caller(ctx, flags, caller, taken);
	return taken->n;
}

/*
 * The number of the stack that is taken in PLACE.  IMAGE: what its process TGID executes, so that
 * equal addresses of two programs are two stacks.  As a global function it is verified only once.
 */
__noinline int stack_keep_taken(__u32 place, __u32 tgid, __u64 image)
{
	struct plumb_stack *taken = bpf_map_lookup_elem(&plumb_stack_taken, &place);
	struct plumb_stack *kept = NULL;
	__u64 mix = tgid ^ image;
	__s32 number = 0;
	__u32 i;

	if (!taken)
		return PLUMB_LOST_STACK;
	for (i = 0; i < PLUMB_STACK_DEPTH && i < taken->n; i++)
		mix = (mix ^ taken->addresses[i]) * 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */
	/* What says that it was cut is another stack. */
	if (taken->walk >= PLUMB_WALK_NO_TABLE && taken->walk <= PLUMB_WALK_MEMORY)
		mix += taken->walk;
	taken->mix = mix;
	taken->image = image;
	/* Of 200,000 stacks ten have the number of another one: these take the next number. */
	for (i = 0; i < STACK_NUMBERS; i++) {
		number = (mix + ((__u64)i << 33)) >> 33;
		kept = stack_keep(number, taken);
		if (!kept)
			return PLUMB_LOST_STACK;
		if (kept->mix == mix)
			break;
	}
	if (i == STACK_NUMBERS)
		return PLUMB_LOST_STACK;
	if (tgid && !kept->told)
		kept->told = !bpf_ringbuf_output(&plumb_processes, &tgid, sizeof(tgid), 0);
	return number;
}

/*
 * Takes the current thread's stack in PLACE; returns its number.  CALLER: where the innermost
 * function returns to; 0: not known.
 */
static __always_inline __s32 stack_of(void *ctx, __u64 flags, __u32 tgid, __u64 image, __u64 caller,
				      __u32 place, struct plumb_stack *taken)
{
	taken->walk = flags & BPF_F_USER_STACK ? unwind_stack(place, tgid, image) : PLUMB_WALK_FP;
	if (!taken->walk && !stack_by_frames(ctx, flags, caller, taken))
		return PLUMB_NO_STACK;
	return stack_keep_taken(place, tgid, image);
}

static __always_inline __u64 stack_image(struct task_struct *task)
{
	struct mm_struct *mm = current_read(task, mm);

	if (!mm)
		return 0;
	return plumb_stack_image(current_read(mm, start_stack), current_read(mm, end_code),
				 current_read(mm, start_brk));
}

/* FLAGS: BPF_F_USER_STACK or 0; TGID, IMAGE: those of the user stack, or 0. */
static __always_inline __s32 stack_take(void *ctx, __u64 flags, __u32 tgid, __u64 image,
					__u64 caller, __u32 cpu)
{
	__s32 number = PLUMB_LOST_STACK;
	struct plumb_stack *taken;
	__u32 place = cpu;

	if (!plumb_config.interleaved || !bpf_map_pop_elem(&plumb_stack_free, &place)) {
		taken = bpf_map_lookup_elem(&plumb_stack_taken, &place);
		if (taken)
			number = stack_of(ctx, flags, tgid, image, caller, place, taken);
		if (plumb_config.interleaved)
			bpf_map_push_elem(&plumb_stack_free, &place, 0);
	}
	if (number == PLUMB_LOST_STACK)
		ledger_count(cpu, stacks_lost);
	return number;
}

/* The number of the current thread's kernel stack. */
static __always_inline __s32 stack_number(void *ctx, __u64 flags, __u32 cpu)
{
	return stack_take(ctx, flags, 0, 0, 0, cpu);
}

/* The number of the current thread's user stack; the loader is notified of its process. */
static __always_inline __s32 stack_user_from(void *ctx, struct task_struct *task, __u32 cpu,
					     __u64 caller, __u32 *tgid)
{
	__u32 pid = current_pid(task);
	__s32 number;

	if (plumb_config.user_stacks == PLUMB_USER_STACKS_NONE)
		return PLUMB_NO_STACK;
	number = stack_take(ctx, BPF_F_USER_STACK, pid, stack_image(task), caller, cpu);
	if (number >= 0)
		*tgid = pid;
	return number;
}

static __always_inline __s32 stack_user(void *ctx, struct task_struct *task, __u32 cpu, __u32 *tgid)
{
	return stack_user_from(ctx, task, cpu, 0, tgid);
}
