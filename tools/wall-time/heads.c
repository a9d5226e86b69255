/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "heads.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>

#define LESS 4 /* than the average wait */

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

/* One for each thread of each WHAT. */
static struct role *roles_of(const struct part *parts, size_t n_parts, size_t *n)
{
	struct role *roles = NULL;
	size_t joined = 0;

	*n = 0;
	for (size_t i = 0; i < n_parts; i++) {
		const struct part *p = &parts[i];

		if (p->cause != CAUSE_THREAD)
			continue;
		*plumb_append(roles, *n) = (struct role){p->what, p->tid, .waited = p->ns};
		if (p->other.tid) /* else the waker is not known */
			*plumb_append(roles, *n) = (struct role){p->what, p->other.tid,
								 .woke = p->ns, .other = p->other};
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

struct head *heads_of(const struct part *parts, size_t n_parts, size_t *n)
{
	struct head *heads = NULL;
	size_t n_roles, i, j, k;
	struct role *roles = roles_of(parts, n_parts, &n_roles);

	*n = 0;
	for (i = 0; i < n_roles; i = j) {
		int64_t waited = 0, waiting = 0, wakers = 0;
		const struct role *least = NULL;

		for (j = i; j < n_roles && roles[j].what == roles[i].what; j++) {
			waited += roles[j].waited;
			waiting += roles[j].waited > 0;
			wakers += roles[j].woke > 0;
		}
		for (k = i; k < j; k++)
			if (roles[k].woke &&
			    (!least || roles[k].waited < least->waited ||
			     (roles[k].waited == least->waited && roles[k].woke > least->woke)))
				least = &roles[k];
		if (least && least->waited * LESS * waiting < waited)
			*plumb_append(heads, *n) =
				(struct head){roles[i].what, least->other, wakers - 1};
	}
	free(roles);
	return heads;
}
