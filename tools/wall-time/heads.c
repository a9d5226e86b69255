/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "heads.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>

#include "words.h"

/* Whether the call is one of CALLS, ended by NULL. */
static bool is_in(const struct part *p, const char *const *calls)
{
	char call[48];

	words_call(p, call, sizeof(call));
	while (*calls && strcmp(call, *calls) != 0)
		calls++;
	return *calls;
}

/* Of processes: a lock in memory that is shared, or one of a file; and where signals are waited
 * for. */
static const char *const locks[] = {"futex", "flock", "fcntl", NULL};
static const char *const signals[] = {"pause", "rt_sigsuspend", "rt_sigtimedwait", NULL};

/* Whether there is something to hold where P sleeps, unlike a pipe. */
bool heads_is_lock(const struct part *p)
{
	static const char *const others[] = {"pipe_", "anon_pipe_", "eventfd_", "unix_",
					     "sk_",   "do_wait",    "ep_"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(p->place, others[i], strlen(others[i])))
			return false;
	if (p->cause == CAUSE_PROCESS)
		return is_in(p, locks);
	return p->cause == CAUSE_THREAD && !is_in(p, signals);
}

struct head *heads_of(const struct part *parts, size_t n_parts, size_t *n)
{
	struct plumb_ended_wait *waits = NULL;
	struct plumb_head *chains;
	struct head *heads;
	size_t n_waits = 0;

	for (size_t i = 0; i < n_parts; i++) {
		const struct part *p = &parts[i];

		if (!heads_is_lock(p))
			continue;
		*plumb_append(waits, n_waits) = (struct plumb_ended_wait){
			.what = p->what,
			.waiter = p->tid,
			/* Of another process its first thread stands for all. */
			.waker = p->other.tid
					 ?: p->cause == CAUSE_PROCESS ? p->other.pid
								      : 0,
			.ns = p->ns,
			.n = p->count,
			.by = p,
		};
	}
	chains = plumb_heads_of(waits, n_waits, n);
	heads = plumb_zeroed(*n, sizeof(*heads));
	for (size_t i = 0; i < *n; i++) {
		const struct part *p = chains[i].by;

		heads[i] = (struct head){chains[i], p->other, p->other_start};
	}
	free(chains);
	free(waits);
	return heads;
}
