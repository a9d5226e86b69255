/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "slower.h"

#include <stdlib.h>
#include <string.h>

uint64_t slow_call_part(const struct slow_call *c, unsigned int part)
{
	uint64_t ns = c->ns;

	if (part != PLUMB_RETURN_PARTS)
		return c->off[part];
	for (int i = 0; i < PLUMB_RETURN_PARTS; i++)
		ns -= c->off[i];
	return ns;
}

static struct kept_call kept_of(const struct slow_call *c, bool in_flight)
{
	struct kept_call kept = {
		.begin = c->end - c->ns,
		.ns = c->ns,
		.ret = c->ret,
		.pid = c->pid,
		.tid = c->tid,
		.nr = c->nr,
		.abi = c->abi,
		.cpu = c->cpu,
		.in_flight = in_flight,
	};

	for (int i = 0; i <= PLUMB_RETURN_PARTS && !in_flight; i++)
		kept.parts[i] = slow_call_part(c, i);
	memcpy(kept.comm, c->comm, sizeof(kept.comm));
	kept.comm[sizeof(kept.comm) - 1] = 0;
	return kept;
}

static void swap(struct kept_call *a, struct kept_call *b)
{
	const struct kept_call c = *a;

	*a = *b;
	*b = c;
}

/* The calls are a heap: none is longer than those below it. */
static void sift_up(struct kept *k, size_t i)
{
	for (; i && k->calls[i].ns < k->calls[(i - 1) / 2].ns; i = (i - 1) / 2)
		swap(&k->calls[i], &k->calls[(i - 1) / 2]);
}

static void sift_down(struct kept *k, size_t i)
{
	for (size_t below; (below = 2 * i + 1) < k->n; i = below) {
		if (below + 1 < k->n && k->calls[below + 1].ns < k->calls[below].ns)
			below++;
		if (k->calls[i].ns <= k->calls[below].ns)
			return;
		swap(&k->calls[i], &k->calls[below]);
	}
}

void kept_add(struct kept *k, const struct slow_call *c, bool in_flight)
{
	if (!k->calls)
		k->calls = calloc(KEPT_MOST, sizeof(*k->calls));
	if (!k->calls)
		abort();
	if (k->n < KEPT_MOST) {
		k->calls[k->n] = kept_of(c, in_flight);
		sift_up(k, k->n++);
		return;
	}
	k->dropped++;
	if (c->ns <= k->calls[0].ns)
		return;
	k->calls[0] = kept_of(c, in_flight);
	sift_down(k, 0);
}

void kept_remove(struct kept *k, uint32_t tid, uint64_t end)
{
	size_t i = 0;

	while (i < k->n && (k->calls[i].tid != tid || k->calls[i].begin + k->calls[i].ns != end))
		i++;
	if (i == k->n) {
		k->dropped--;
		return;
	}
	k->calls[i] = k->calls[--k->n];
	sift_down(k, i);
	sift_up(k, i);
}

static int by_thread(const void *a, const void *b)
{
	const struct kept_call *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

void kept_sort(struct kept *k)
{
	if (k->n)
		qsort(k->calls, k->n, sizeof(*k->calls), by_thread);
}
