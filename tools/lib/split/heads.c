/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/split/heads.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>

/*
 * A convoy of 4 to 150 threads at one mutex, one of which held it for 15 ms and the others for 50
 * us (6.18): it ended 3 to 1000 times as much as it waited, the others 0.7 to 1.3 times.
 */
#define MORE 2
/* Waits: of fewer it may be by chance, all the more in one of many threads. */
#define SURE(n_threads) (5 + (n_threads) / 40)
#define FEW             4 /* less than a fourth of the average */

/* What a thread has to do with what others wait for. */
struct role {
	uint64_t what;
	uint32_t tid;
	int64_t waited, woke; /* ns; WOKE: the waits that it ended */
	uint64_t n;           /* of these */
	const void *by;
};

static int by_what(const void *a, const void *b)
{
	const struct role *p = a, *q = b;

	if (p->what != q->what)
		return p->what < q->what ? -1 : 1;
	return (p->tid > q->tid) - (p->tid < q->tid);
}

/* One for each thread of each WHAT. */
static struct role *roles_of(const struct plumb_ended_wait *waits, size_t n_waits, size_t *n)
{
	struct role *roles = NULL;
	size_t joined = 0;

	*n = 0;
	for (size_t i = 0; i < n_waits; i++) {
		const struct plumb_ended_wait *w = &waits[i];

		if (!w->waker) /* both sums are of the same waits */
			continue;
		*plumb_append(roles, *n) = (struct role){w->what, w->waiter, .waited = w->ns};
		*plumb_append(roles, *n) =
			(struct role){w->what, w->waker, .woke = w->ns, .n = w->n, .by = w->by};
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
		last->n += roles[i].n;
		if (roles[i].by)
			last->by = roles[i].by;
	}
	*n = joined;
	return roles;
}

/*
 * Of the N roles of one WHAT: who holds what the others wait for ends more waits than it has
 * itself; who passes it on ends about as many.  A thread that ends few of the waits has to do with
 * something else: WHAT is a place, and not one lock.  False: there is none.
 */
static bool find_head(const struct role *roles, size_t n, struct plumb_head *head)
{
	int64_t woke = 0, wakers = 0, most = 0;
	size_t holders = 0, taking_part = 0;

	for (size_t i = 0; i < n; i++) {
		woke += roles[i].woke;
		wakers += roles[i].woke > 0;
	}
	*head = (struct plumb_head){.what = roles->what};
	for (size_t i = 0; i < n; i++) {
		if (!roles[i].woke || roles[i].woke * FEW * wakers < woke)
			continue;
		taking_part++;
		if (roles[i].n < SURE(n) || roles[i].woke < MORE * roles[i].waited)
			continue;
		holders++;
		if (roles[i].woke <= most)
			continue;
		most = roles[i].woke;
		head->tid = roles[i].tid;
		head->by = roles[i].by;
	}
	head->passed = taking_part - holders;
	head->more = holders - !!holders;
	return holders;
}

struct plumb_head *plumb_heads_of(const struct plumb_ended_wait *waits, size_t n, size_t *n_heads)
{
	struct plumb_head *heads = NULL, head;
	size_t n_roles, i, j;
	struct role *roles = roles_of(waits, n, &n_roles);

	*n_heads = 0;
	for (i = 0; i < n_roles; i = j) {
		for (j = i; j < n_roles && roles[j].what == roles[i].what; j++)
			;
		if (find_head(&roles[i], j - i, &head))
			*plumb_append(heads, *n_heads) = head;
	}
	free(roles);
	return heads;
}

const char *plumb_head_text(const struct plumb_head *h, const char *name, const char *did,
			    char *text, size_t size)
{
	int n = snprintf(text, size, "%s", name);

	if (h->more)
		n += snprintf(text + n, size - n, " and %zu other%s", h->more,
			      h->more == 1 ? "" : "s");
	n += snprintf(text + n, size - n, " %s", did);
	if (h->passed)
		snprintf(text + n, size - n, ", %zu %spassed it on", h->passed,
			 h->more          ? ""
			 : h->passed == 1 ? "other "
					  : "others ");
	return text;
}
