// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When processes are noted, and the perf maps of those that have one are read again. */
#include "symbols.h"
#include <plumb/core/clock.h>

/* A process is not noted again for REST times the CPU time of noting it, at most REST_MAX ns. */
#define REST     4
#define REST_MAX 100000000

/* The perf map of a process with code of no file is looked at so often, ns. */
#define WATCH 200000000

/* Time after which plumb_symbolizer_note_due() stops noting processes, ns. */
#define TURN 10000000

/* What processes have mapped is taken so often, ns. */
#define MAPPED 50000000

static void queue(struct plumb_symbolizer *s, struct plumb_process *p, uint64_t due)
{
	p->due = due;
	if (p->is_queued)
		return;
	p->is_queued = true;
	p->next = NULL;
	*s->queue_end = p;
	s->queue_end = &p->next;
}

static void watch(struct plumb_symbolizer *s, struct plumb_process *p)
{
	p->is_watched = true;
	queue(s, p, plumb_now() + WATCH);
}

static int note_and_rest(struct plumb_symbolizer *s, struct plumb_process *p)
{
	uint64_t rest = plumb_cpu_time();
	int err = plumb_process_note(s, p);

	rest = (plumb_cpu_time() - rest) * REST;
	p->rest = plumb_now() + (rest < REST_MAX ? rest : REST_MAX);
	if (!err && plumb_process_has_jit(p) && !p->is_queued)
		watch(s, p);
	return err;
}

int plumb_symbolizer_note(struct plumb_symbolizer *s, pid_t pid)
{
	return note_and_rest(s, plumb_process_find_or_add(s, pid));
}

void plumb_symbolizer_note_soon(struct plumb_symbolizer *s, pid_t pid)
{
	struct plumb_process *p = plumb_process_find_or_add(s, pid);

	p->is_watched = false;
	queue(s, p, p->rest);
}

int plumb_symbolizer_note_due(struct plumb_symbolizer *s, bool all)
{
	uint64_t now = plumb_now(), end = now + TURN, first = UINT64_MAX;
	struct plumb_process *next = s->queue, *p;

	if (s->mapped)
		s->counts.lost += plumb_mapped_take(s->mapped);
	s->queue = NULL;
	s->queue_end = &s->queue;
	while ((p = next)) {
		next = p->next;
		p->is_queued = false;
		if (!all && (now < p->due || now >= end))
			queue(s, p, p->due);
		else if (!p->is_watched)
			note_and_rest(s, p);
		else if (plumb_process_look_again(s, p))
			watch(s, p);
		if (p->is_queued && p->due < first)
			first = p->due;
		now = plumb_now();
	}
	/* Before the kernel has no room for what it reports. */
	if (s->mapped && first > now + MAPPED)
		first = now + MAPPED;
	if (!s->queue && !s->mapped)
		return 0;
	return first > now ? first - now : 1;
}

bool plumb_symbolizer_watches_only(const struct plumb_symbolizer *s)
{
	for (const struct plumb_process *p = s->queue; p; p = p->next)
		if (!p->is_watched)
			return false;
	return true;
}
