/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "heads.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>

#include "words.h"

#define LESS 4 /* than the average */

/* What a thread has to do with what others wait for. */
struct role {
	uint32_t what, tid;
	int64_t waited, woke; /* ns; WOKE: the waits that it ended */
	struct wall_other other;
};

static int by_what(const void *a, const void *b)
{
	const struct role *p = a, *q = b;

	if (p->what != q->what)
		return p->what < q->what ? -1 : 1;
	return (p->tid > q->tid) - (p->tid < q->tid);
}

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

/* One for each thread of each WHAT. */
static struct role *roles_of(const struct part *parts, size_t n_parts, size_t *n)
{
	struct role *roles = NULL;
	size_t joined = 0;
	uint32_t waker;

	*n = 0;
	for (size_t i = 0; i < n_parts; i++) {
		const struct part *p = &parts[i];

		if (!heads_is_lock(p))
			continue;
		*plumb_append(roles, *n) = (struct role){p->what, p->tid, .waited = p->ns};
		/* Of another process its first thread stands for all. */
		waker = p->other.tid ?: p->cause == CAUSE_PROCESS ? p->other.pid : 0;
		if (waker) /* else it is not known */
			*plumb_append(roles, *n) =
				(struct role){p->what, waker, .woke = p->ns, .other = p->other};
	}
	if (*n)
		qsort(roles, *n, sizeof(*roles), by_what);
	for (size_t i = 0; i < *n; i++) {
		struct role *last = joined ? &roles[joined - 1] : NULL;

		if (!last || by_what(last, &roles[i])) {
			roles[joined++] = roles[i];
			continue;
		}
		last->waited += roles[i].waited;
		last->woke += roles[i].woke;
		if (roles[i].woke)
			last->other = roles[i].other;
	}
	*n = joined;
	return roles;
}

/*
 * Of the N roles of one WHAT: who holds what the others wait for, and pass on to one another, waits
 * itself hardly at all.  A thread that ends few of the waits has to do with something else: WHAT is
 * a call, and not one lock.  False: there is none.
 */
static bool find_head(const struct role *roles, size_t n, struct head *head)
{
	int64_t waited = 0, woke = 0, waiting = 0, wakers = 0, most = 0;
	size_t holders = 0, taking_part = 0;

	for (size_t i = 0; i < n; i++) {
		waited += roles[i].waited;
		woke += roles[i].woke;
		waiting += roles[i].waited > 0;
		wakers += roles[i].woke > 0;
	}
	*head = (struct head){.what = roles->what};
	for (size_t i = 0; i < n; i++) {
		if (!roles[i].woke || roles[i].woke * LESS * wakers < woke)
			continue;
		taking_part++;
		if (roles[i].waited * LESS * waiting >= waited)
			continue;
		holders++;
		if (roles[i].woke <= most)
			continue;
		most = roles[i].woke;
		head->other = roles[i].other;
	}
	head->passed = taking_part - holders;
	head->more = holders - !!holders;
	return holders;
}

struct head *heads_of(const struct part *parts, size_t n_parts, size_t *n)
{
	struct head *heads = NULL, head;
	size_t n_roles, i, j;
	struct role *roles = roles_of(parts, n_parts, &n_roles);

	*n = 0;
	for (i = 0; i < n_roles; i = j) {
		for (j = i; j < n_roles && roles[j].what == roles[i].what; j++)
			;
		if (find_head(&roles[i], j - i, &head))
			*plumb_append(heads, *n) = head;
	}
	free(roles);
	return heads;
}
