/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "on-cpu.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>

/*
 * Threads that do not live long have few samples: the time of all of one name is divided among the
 * samples of all of them, and they are not told apart.
 */
#define FEW 10

static int by_tid(const void *a, const void *b)
{
	const struct part *p = a, *q = b;

	return (p->tid > q->tid) - (p->tid < q->tid);
}

static void sort(struct account *parts, int (*by)(const void *, const void *))
{
	if (parts->n)
		qsort(parts->parts, parts->n, sizeof(*parts->parts), by);
}

/* Of the thread, in SAMPLES, which are sorted by thread. */
static int64_t count_of(const struct account *samples, uint32_t tid)
{
	const struct part wanted = {.tid = tid};
	const struct part *p =
		samples->n ? bsearch(&wanted, samples->parts, samples->n, sizeof(wanted), by_tid)
			   : NULL;
	const struct part *end = samples->parts + samples->n;
	int64_t count = 0;

	while (p && p > samples->parts && p[-1].tid == tid)
		p--;
	for (; p && p < end && p->tid == tid; p++)
		count += p->ns;
	return count;
}

/* Whose time it is: that of a thread, or 0: of all of the name that have few samples. */
static int by_whose(const void *a, const void *b)
{
	const struct part *p = a, *q = b;
	int differs = by_tid(p, q) ?: (p->tid ? 0 : memcmp(p->comm, q->comm, sizeof(p->comm)));

	return differs ?: (p->cause == CAUSE_IRQ) - (q->cause == CAUSE_IRQ);
}

/* Threads with few samples are not told apart. */
static void pool(struct account *parts, const struct account *samples)
{
	uint32_t tid = 0;
	bool few = false;

	for (size_t i = 0; i < parts->n; i++) {
		struct part *p = &parts->parts[i];

		if (p->tid != tid)
			few = count_of(samples, p->tid) < FEW;
		p->threads = p->tid != tid;
		tid = p->tid;
		if (few) {
			p->tid = 0;
			p->start = "";
			p->waiter.kind = 0;
		}
	}
}

static void join(struct account *on)
{
	size_t n = 0;

	for (size_t i = 0; i < on->n; i++) {
		const struct part part = on->parts[i];
		struct part *last = n ? &on->parts[n - 1] : NULL;

		if (!last || by_whose(last, &part)) {
			on->parts[n++] = part;
			continue;
		}
		last->ns += part.ns;
		last->count += part.count;
		last->threads += part.threads;
		last->pid = last->pid == part.pid ? part.pid : 0;
	}
	on->n = n;
}

static void divide(struct account *a, const struct part *on, const struct part *samples, size_t n)
{
	int64_t among = 0, before = 0;
	struct part *part;

	for (size_t i = 0; i < n; i++)
		among += samples[i].ns;
	if (!among && on->ns)
		*(struct part *)plumb_append(a->parts, a->n) = *on;
	for (size_t i = 0; i < n && among; i++) {
		part = plumb_append(a->parts, a->n);
		*part = samples[i];
		part->threads = on->threads;
		/* So that the sum is that of all. */
		part->ns = (__int128)on->ns * (before + samples[i].ns) / among -
			   (__int128)on->ns * before / among;
		before += samples[i].ns;
	}
}

void on_cpu_divide(struct account *a, struct account *on, struct account *samples)
{
	struct account told = {};
	size_t i, j, k = 0;

	sort(samples, by_tid);
	sort(on, by_tid);
	*plumb_append(told.parts, told.n) = (struct part){};
	told.n--;
	for (i = 0; i < samples->n; i++)
		*plumb_append(told.parts, told.n) = samples->parts[i];
	pool(on, &told);
	pool(samples, &told);
	free(told.parts);
	sort(on, by_whose);
	join(on);
	sort(samples, by_whose);
	for (i = 0; i < on->n; i++) {
		while (k < samples->n && by_whose(&samples->parts[k], &on->parts[i]) < 0)
			k++;
		for (j = k; j < samples->n && !by_whose(&samples->parts[j], &on->parts[i]); j++)
			;
		divide(a, &on->parts[i], &samples->parts[k], j - k);
		k = j;
	}
}
