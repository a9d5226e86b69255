/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "idle.h"

#include <stdlib.h>
#include <string.h>

/* Of a thread's time: half in one place where it waits for work, or for an answer, is for work; */
#define IDLE_SHARE 2
/* nearly all, where a lock looks the same; more than a twentieth: it serves others. */
#define POOL_PERCENT 90
#define SERVES_SHARE 20

static int by_thread(const void *a, const void *b)
{
	const struct part *p = a, *q = b;

	if (p->tid != q->tid)
		return p->tid < q->tid ? -1 : 1;
	if (p->what != q->what)
		return p->what < q->what ? -1 : 1;
	return strcmp(p->place, q->place);
}

/*
 * The time of a sleep that had not ended at the last report was in that: it is taken from that of
 * the parts that it became.
 */
static void settle(struct part *parts, size_t n)
{
	int64_t owed = 0, paid;

	for (size_t i = 0; i < n; i++)
		if (parts[i].ns < 0) {
			owed -= parts[i].ns;
			parts[i].ns = 0;
		}
	for (size_t i = 0; i < n && owed; i++) {
		paid = parts[i].ns < owed ? parts[i].ns : owed;
		parts[i].ns -= paid;
		owed -= paid;
	}
}

/*
 * Whether a thread is idle in PART, of its LIFE; HERE: its waits of that kind in that place;
 * SERVING: all in which it waits for work.  A pause of a thread that serves others is one that they
 * wait for.
 */
static bool is_idle(const struct part *part, int64_t here, int64_t serving, int64_t life)
{
	switch (part->work) {
	case WORK_CLIENT:
		return true;
	case WORK_PAUSE:
		return serving * SERVES_SHARE < life;
	case WORK_WAIT:
		return here * IDLE_SHARE >= life;
	case WORK_POOL:
		return here * 100 >= life * POOL_PERCENT;
	default:
		return false;
	}
}

/* The N parts of one thread, by place. */
static void judge_thread(struct part *parts, size_t n, int64_t life)
{
	int64_t serving = 0, here;
	size_t i, j, k;

	for (i = 0; i < n; i++)
		serving += parts[i].work == WORK_CLIENT ? life
			   : parts[i].work == WORK_WAIT ? parts[i].ns
							: 0;
	for (i = 0; i < n; i = j) {
		here = 0;
		for (j = i; j < n && !by_thread(&parts[i], &parts[j]); j++)
			here += parts[j].work == WORK_WAIT || parts[j].work == WORK_POOL
					? parts[j].ns
					: 0;
		settle(&parts[i], j - i);
		for (k = i; k < j; k++)
			parts[k].idle = life && is_idle(&parts[k], here, serving, life);
	}
}

void idle_judge(struct account *a, const struct lives *lives, bool all_waits)
{
	const struct life *life;
	size_t i, j;

	if (a->n)
		qsort(a->parts, a->n, sizeof(*a->parts), by_thread);
	for (i = 0; i < a->n; i = j) {
		for (j = i; j < a->n && a->parts[j].tid == a->parts[i].tid; j++)
			;
		life = lives_find(lives, a->parts[i].tid);
		judge_thread(&a->parts[i], j - i, life && !all_waits ? life->ns : 0);
	}
}
