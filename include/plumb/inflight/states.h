/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * states: reads the state that the programs keep of each thread (PLUMB_THREAD of the
 * programs, kept by inflight.bpf.h).
 *
 * If the states are in a hash, all its elements are read.  In task storage each thread's state is
 * looked up by its pidfd, from Linux 6.9 on; on older kernels a BPF iterator writes the states.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/core/run.h>

struct plumb_state {
	uint32_t pid, tid;
	const void *value; /* PLUMB_THREAD */
};

/*
 * Calls EACH for the state of each thread that has one.  Returns false if not all were read:
 * DEADLINE (ns, CLOCK_MONOTONIC) passed, or the kernel gives only those of main threads of
 * processes.
 */
bool plumb_states_each(const struct plumb_run *run, uint64_t deadline,
		       void (*each)(void *context, const struct plumb_state *state), void *context);

/*
 * Returns the offset in bytes of member NAME in struct TYPE of the programs, from the object's BTF;
 * -1 if there is no such member.
 */
int plumb_states_offset(const struct bpf_object *object, const char *type, const char *name);

/*
 * Of states by id, if the programs keep them (user/by-id.h): removes those of processes that have
 * ended or called execve(), and counts the calls that they are inside as abandoned.  To be called
 * now and then.
 */
void plumb_states_settle(const struct plumb_bpf *bpf);

/* Returns the size of struct TYPE in bytes; 0 if there is none. */
size_t plumb_states_size(const struct bpf_object *object, const char *type);

/* Returns the 64-bit word at OFFSET of a state. */
static inline uint64_t plumb_state_word(const void *value, int offset)
{
	return *(const uint64_t *)((const char *)value + offset);
}

/* Returns the global variable NAME (in .bss) of the programs and sets *SIZE; NULL: none. */
const void *plumb_states_variable(const struct bpf_object *object, const char *name, size_t *size);

/* Of programs that include sched/sched.bpf.h: when TASK (an address) got the CPU that it has; 0: it
 * has none. */
uint64_t plumb_states_came(const struct plumb_run *run, uint64_t task);
