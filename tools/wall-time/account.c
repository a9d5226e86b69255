/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "account.h"

#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/core/text.h>

#include "heads.h"
#include "idle.h"
#include "on-cpu.h"
#include "parts.h"
#include "quota.h"
#include "threads.h"

/* --- parts that are the same --- */

static int compare(const struct part *p, const struct part *q)
{
	int differs;

	if (p->cause != q->cause)
		return p->cause < q->cause ? -1 : 1;
	if (p->idle != q->idle)
		return p->idle - q->idle;
	if (p->what != q->what)
		return p->what < q->what ? -1 : 1;
	if (p->device != q->device)
		return p->device < q->device ? -1 : 1;
	if (p->quota != q->quota)
		return p->quota < q->quota ? -1 : 1;
	differs = strcmp(p->place, q->place) ?: strcmp(p->peer, q->peer);
	differs = differs ?: memcmp(&p->other, &q->other, sizeof(p->other));
	differs = differs ?: strcmp(p->start, q->start);
	return differs ?: memcmp(p->comm, q->comm, sizeof(p->comm));
}

static int by_part(const void *a, const void *b)
{
	const struct part *p = a, *q = b;

	return compare(p, q) ?: (p->tid > q->tid) - (p->tid < q->tid);
}

static int by_time(const void *a, const void *b)
{
	const struct part *p = a, *q = b;

	if (p->idle != q->idle)
		return p->idle - q->idle;
	return (p->ns < q->ns) - (p->ns > q->ns);
}

static void merge(struct account *a)
{
	size_t n = 0;
	struct part *last;
	uint32_t tid = 0;

	if (a->n)
		qsort(a->parts, a->n, sizeof(*a->parts), by_part);
	for (size_t i = 0; i < a->n; i++) {
		const struct part part = a->parts[i];

		last = n ? &a->parts[n - 1] : NULL;
		if (!last || compare(last, &part)) {
			a->parts[n] = part;
			a->parts[n++].threads = part.threads ?: 1;
		} else {
			last->ns += part.ns;
			last->count += part.count;
			last->threads += part.tid != tid ? part.threads ?: 1 : 0;
			last->pid = last->pid == part.pid ? part.pid : 0;
		}
		tid = part.tid;
	}
	a->n = n;
	for (size_t i = 0; i < n; i++)
		if (a->parts[i].threads > 1)
			a->parts[i].tid = a->parts[i].waiter.kind = 0;
	if (n)
		qsort(a->parts, n, sizeof(*a->parts), by_time);
}

/* For a flame graph: before parts of other stacks are joined. */
static void keep_stacks(struct account *a)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct part *p = &a->parts[i];
		char comm[PLUMB_ESCAPED], inner[80];

		if (p->ns <= 0)
			continue;
		plumb_escape(comm, p->comm, sizeof(comm));
		snprintf(inner, sizeof(inner), "[%s]", cause_text(p->cause));
		*plumb_append(a->stacks, a->n_stacks) = (struct plumb_weighed){
			.key = p->stack,
			.outer = part_text(*comm ? comm : "[unknown]"),
			.inner = cause_is_on_cpu(p->cause) ? NULL : part_text(inner),
			.weight = p->ns,
		};
	}
}

/* --- the whole --- */

/* Time that is in no row yet; of the last report, to be taken back. */
static struct part *rest, *rest_before;
static size_t n_rest, n_rest_before;

/* A report of the whole run, which no other one was before. */
static bool is_whole(const struct plumb_report *r)
{
	return r->final && r->seq == 1;
}

static void keep_rest(const struct plumb_report *r, const struct part *part)
{
	if (is_whole(r))
		return;
	*plumb_append(rest, n_rest) = *part;
	rest[n_rest - 1].stack = NULL; /* it is not there any more at the next report */
}

static void add_rest(struct account *a, const struct plumb_report *r, struct life *life,
		     struct account *on)
{
	struct part *part;

	if (life->on) {
		part = part_add(on, life, life->on, 1);
		part->cause = CAUSE_ON;
		keep_rest(r, part);
	}
	if (!life->off)
		return;
	part = part_add(a, life, life->off, 1);
	if (life->off_key)
		part_judge_key(part, r, life->off_key);
	else
		part_judge_spot(part, WALL_BEFORE, &life->last);
	keep_rest(r, part);
}

/* At a new interval, what was in the rest of the last one is there. */
static void take_back(struct account *a, const struct plumb_report *r, const struct lives *lives,
		      struct account *on)
{
	static uint64_t seq;
	struct life *life;
	struct part *part;

	if (r->seq != seq) {
		free(rest_before);
		rest_before = rest;
		n_rest_before = n_rest;
	} else {
		free(rest);
	}
	rest = NULL;
	n_rest = 0;
	seq = r->seq;
	for (size_t i = 0; i < n_rest_before; i++) {
		life = lives_find(lives, rest_before[i].tid);
		part = part_add(rest_before[i].cause == CAUSE_ON ? on : a, life, 0, 0);
		*part = rest_before[i];
		part->ns = -part->ns;
		part->count = 0;
		if (life)
			life->ns += part->ns;
	}
}

static void add_row(struct account *a, const struct plumb_report *r, const struct plumb_row *row,
		    const struct lives *lives, struct account *on, struct account *samples)
{
	const struct wall_key *key = row->key;
	struct life *life = row->slot ? lives_find(lives, key->stack.who.tid) : NULL;
	struct part *part;

	if (!life) {
		if (row->sum)
			part_add(a, NULL, row->sum, row->count)->cause = CAUSE_UNTOLD;
		return;
	}
	if (key->kind == WALL_ON) {
		part = part_add(on, life, row->sum, row->count);
		part->cause = CAUSE_ON;
	} else if (key->kind == WALL_INTERRUPT) {
		part_add(on, life, row->sum, row->count)->cause = CAUSE_IRQ;
		part = part_add(on, life, -(int64_t)row->sum, 0);
		part->cause = CAUSE_ON;
	} else if (key->kind == WALL_BEFORE) {
		part = part_add(a, life, row->sum, row->count);
		part_judge_spot(part, WALL_BEFORE, &life->first);
	} else if (key->kind == WALL_SAMPLE) {
		part = part_add(samples, life, row->count, row->count);
		part_judge_key(part, r, key);
	} else {
		part = part_add(a, life, row->sum, row->count);
		part_judge_key(part, r, key);
	}
	if (!life->start && *part->start)
		life->start = part->start;
}

/* Tells with which functions threads were started, those of PARTS and those that woke them. */
static void tell_starts(struct part *parts, size_t n, const struct lives *lives)
{
	const struct life *life, *other;

	for (size_t i = 0; i < n; i++) {
		life = lives_find(lives, parts[i].tid);
		other = lives_find(lives, parts[i].other.tid);
		parts[i].start = life && life->start ? life->start : "";
		parts[i].other_start = other && other->start ? other->start : "";
	}
}

static int by_comm(const void *a, const void *b)
{
	const struct life *l = a, *m = b;

	return strncmp(l->comm, m->comm, sizeof(l->comm));
}

/* Whose time it is, and of how many threads. */
static void name_program(struct account *a, struct lives *lives)
{
	int64_t ns, most = 0;
	size_t j;

	a->threads = lives->n;
	if (lives->n)
		qsort(lives->all, lives->n, sizeof(*lives->all), by_comm);
	for (size_t i = 0; i < lives->n; i = j) {
		ns = 0;
		for (j = i; j < lives->n && !by_comm(&lives->all[i], &lives->all[j]); j++) {
			ns += lives->all[j].ns;
			a->pid = !j || a->pid == lives->all[j].pid ? lives->all[j].pid : 0;
		}
		a->programs++;
		if (ns > most) {
			most = ns;
			memcpy(a->comm, lives->all[i].comm, sizeof(a->comm));
		}
	}
	a->most = most;
}

void account_make(struct account *a, const struct plumb_report *r, uint64_t began, bool all_waits)
{
	static struct lives lives; /* what is kept of stacks points into it */
	struct account on = {}, samples = {.counts = true};

	*a = (struct account){};
	lives_free(&lives);
	lives = lives_of(r->run, r->total, began);
	if (!is_whole(r))
		take_back(a, r, &lives, &on);
	for (size_t i = 0; i < r->snap->n; i++)
		add_row(a, r, &r->snap->rows[i], &lives, &on, &samples);
	for (size_t i = 0; i < lives.n; i++)
		add_rest(a, r, &lives.all[i], &on);
	idle_judge(a, &lives, all_waits);
	quota_adopt(a->parts, a->n);
	tell_starts(a->parts, a->n, &lives);
	tell_starts(on.parts, on.n, &lives);
	tell_starts(samples.parts, samples.n, &lives);
	a->is_crowded = r->total->n > r->run->options.max_keys / 2;
	/* Of single threads, what others wait for is not known. */
	if (!r->run->options.n_tids && !a->is_crowded)
		a->heads = heads_of(a->parts, a->n, &a->n_heads);
	on_cpu_divide(a, &on, &samples);
	keep_stacks(a);
	merge(a);
	for (size_t i = 0; i < a->n; i++) {
		a->ns += a->parts[i].ns;
		a->idle += a->parts[i].idle ? a->parts[i].ns : 0;
	}
	name_program(a, &lives);
	free(on.parts);
	free(samples.parts);
}

void account_free(struct account *a)
{
	free(a->heads);
	free(a->stacks);
	free(a->parts);
}

const struct head *account_head(const struct account *a, const struct part *p)
{
	for (size_t i = 0; i < a->n_heads; i++)
		if (heads_is_lock(p) && a->heads[i].chain.what == p->what)
			return &a->heads[i];
	return NULL;
}
