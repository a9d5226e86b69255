/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * states: what the programs keep of each thread (struct plumb_thread of inflight.bpf.h), read.
 *
 * Where they are kept in a hash, that is walked.  In task storage they are asked for thread by
 * thread, by pidfd, from Linux 6.9 on; before, an iterator of the kernel's hands them over.
 */
#ifndef PLUMB_STATES_H
#define PLUMB_STATES_H

#include <plumb/session/session.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_state {
	uint32_t pid, tid;
	const void *value; /* struct plumb_thread */
};

/*
 * Calls EACH for the state of each thread that has one.  False: not all could be had by DEADLINE
 * (ns, CLOCK_MONOTONIC), or not of threads other than their processes' first.
 */
bool plumb_states_each(const struct plumb_session *s, uint64_t deadline,
		       void (*each)(void *context, const struct plumb_state *state), void *context);

/*
 * Where the member NAME of a program's struct TYPE is, in bytes, by the types in its object; -1:
 * it has none.
 */
int plumb_states_offset(const struct bpf_object *object, const char *type, const char *name);

/* How large that is; 0: there is none. */
size_t plumb_states_size(const struct bpf_object *object, const char *type);

/* The word at OFFSET. */
static inline uint64_t plumb_state_word(const void *value, int offset)
{
	return *(const uint64_t *)((const char *)value + offset);
}

/* A global variable of the programs, and its SIZE; NULL: there is none. */
const void *plumb_states_variable(const struct bpf_object *object, const char *name, size_t *size);

#endif
