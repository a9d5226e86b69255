/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inflight: the calls and sleeps that have not ended, each with its thread and its age.
 *
 * Calls that began during the trace are in the states that the programs keep of threads.  A thread
 * without a state has begun no call since the programs were attached, so a call that /proc shows
 * for it began before the trace.  This holds only while the programs are attached: threads are
 * inspected then.  The states are read after the trace has ended, so that they agree with the
 * ledger.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/stack/stacks.h>
#include <plumb/core/inflight.h>
#include <plumb/inflight/states.h>
#include <plumb/kernel/thread.h>

/*
 * Where a thread is: the names of the frames of its stacks.
 *
 * Innermost first: the kernel's, then the user's.  "[truncated]" follows
 * the frames of an incomplete stack.
 */
struct plumb_frames {
	size_t n, n_kernel;
	bool is_whole; /* the user's was walked by unwind tables to the outermost function */
	/* Its innermost functions are those of a read-write lock, which waits as condition
	 * variables do (FUTEX_WAIT_BITSET). */
	bool in_rwlock;
	char *text[2 * PLUMB_STACK_DEPTH + 3]; /* the last: "[truncated]" if inlining adds more */
};

json_t *plumb_frames_json(const struct plumb_frames *f);
void plumb_frames_free(struct plumb_frames *f);

/* --- threads.c: the existing threads that the filters accept --- */

/*
 * Calls EACH for each thread that the filters by process, thread, cgroup and command accept, except
 * those of this process.  Names are not checked: see plumb_thread_is_named().  Returns false if
 * DEADLINE (ns, CLOCK_MONOTONIC) passed before all threads were visited.
 */
bool plumb_threads_each(const struct plumb_run *run, uint64_t deadline,
			void (*each)(void *context, uint32_t pid, uint32_t tid), void *context);

/* Returns whether --comm accepts the thread's name; true without --comm. */
bool plumb_thread_is_named(const struct plumb_options *o, uint32_t pid, uint32_t tid);

/* --- flights --- */

void plumb_flights_add(struct plumb_flights *f, const struct plumb_flight *one);

/* A flight of this thread without stacks, and with the members that follow. */
#define PLUMB_FLIGHT(thread_pid, thread_tid, ...)                                                  \
	((struct plumb_flight){.pid = (thread_pid),                                                \
			       .tid = (thread_tid),                                                \
			       .kernel = PLUMB_NO_STACK,                                           \
			       .user = PLUMB_NO_STACK,                                             \
			       __VA_ARGS__})

/* For struct plumb_inflight of tools of system calls. */
extern const struct plumb_inflight_kind plumb_syscalls_inflight;
#define PLUMB_SYSCALLS_INFLIGHT                                                                    \
	.kind = &plumb_syscalls_inflight, .heading = "CALL", .json = "syscall", .proc = "syscall"

/* The same for tools of functions of the kernel, or, without .proc, of programs. */
extern const struct plumb_inflight_kind plumb_functions_inflight;
#define PLUMB_FUNCTIONS_INFLIGHT                                                                   \
	.kind = &plumb_functions_inflight, .heading = "FUNCTION", .json = "function",              \
	.proc = "stack"

/*
 * For plumb_inflight_kind.read: the call that a thread is in by its STATE, a struct TYPE, always
 * the same one, as plumb_inflight.state says; it is not recorded if the thread waits on its way
 * out.  Its start is 0: there is none.
 */
struct plumb_flight plumb_flight_of(const struct plumb_run *run, const struct plumb_state *state,
				    const char *type);
/* Adds it, if it has a start, as the tool describes it. */
void plumb_flights_take(const struct plumb_run *run, const struct plumb_state *state,
			struct plumb_flight *f, struct plumb_flights *to);
