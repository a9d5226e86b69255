/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merging/hosts.h"
#include "reading/memory.h"

/*
 * Of a host, runs that may go on; the oldest are taken to be over.  With ids, also those that are
 * over are known, since files are read in any order.
 */
#define MOST_OPEN  64
#define MOST_NAMED 4096

static size_t find(struct hosts *h, struct span name)
{
	char *text = scan_text(name);
	json_t *at = json_object_get(h->indices, text);
	size_t i = at ? (size_t)json_integer_value(at) : h->n;

	if (at) {
		free(text);
		return i;
	}
	h->indices = h->indices ?: get(json_object());
	h->all = room_for_one(h->all, h->n, &h->room, sizeof(*h->all));
	h->all[h->n++] = (struct host){.name = text};
	if (json_object_set_new_nocheck(h->indices, text, json_integer(i)))
		abort();
	return i;
}

static void add_host(struct run_host *to, const struct run_host *of)
{
	to->reports += of->reports;
	to->recorded = ledger_sum(to->recorded, of->recorded);
	to->lost = ledger_sum(to->lost, of->lost);
	to->lost_unknown |= of->lost_unknown;
}

/* OVER: of the runs that are over, or of all. */
static struct run_host *sum_of(struct host *host, bool over)
{
	return over ? &host->over : &host->sum;
}

static void add_run(struct hosts *h, size_t host, const struct run *run, bool over)
{
	struct hosts_sum *sum = over ? &h->over : &h->sum;
	const struct ledger *l = &run->ledger;

	sum->runs++;
	sum->headless += run->first > 1;
	ledger_add(&sum->ledger, l);
	for (size_t i = 0; i < run->n_hosts; i++)
		add_host(sum_of(&h->all[run->hosts[i].host], over), &run->hosts[i]);
	if (!run->n_hosts)
		add_host(sum_of(&h->all[host], over),
			 &(struct run_host){host, run->reports, l->n[LEDGER_RECORDED],
					    l->n[LEDGER_LOST], l->unknown[LEDGER_LOST]});
}

static void free_run(struct run *run)
{
	free(run->hosts);
	free(run);
}

/* Of the run's reports LAST is the last. */
static void take_last(struct run *run, struct run *last)
{
	free(run->hosts);
	run->hosts = last->hosts;
	run->n_hosts = last->n_hosts;
	run->ledger = last->ledger;
	run->seq = last->seq;
	run->end = last->end;
	run->shift = last->shift;
	run->final = last->final;
}

static struct run run_of(struct hosts *h, const struct line *l)
{
	struct run run = {
		.first = l->seq,
		.start = l->start,
		.seq = l->seq,
		.end = l->end,
		.shift = l->shift,
		.final = l->final,
		.ledger = l->ledger,
		.n_hosts = l->n_hosts,
	};

	if (l->n_hosts)
		run.hosts = get(calloc(l->n_hosts, sizeof(*run.hosts)));
	else if (l->run.n)
		memcpy(run.id, l->run.text, l->run.n);
	for (size_t i = 0; i < l->n_hosts; i++)
		run.hosts[i] = (struct run_host){find(h, l->hosts[i].name), l->hosts[i].reports,
						 l->hosts[i].recorded, l->hosts[i].lost,
						 l->hosts[i].lost_unknown};
	return run;
}

static bool continues(const struct run *run, const struct run *next)
{
	if (*next->id || *run->id)
		return !strcmp(run->id, next->id);
	return !run->final && run->seq + 1 == next->seq && run->end == next->start;
}

static int by_start(const void *a, const void *b)
{
	const struct run *x = *(struct run *const *)a, *y = *(struct run *const *)b;

	return (x->start > y->start) - (x->start < y->start);
}

/* The run of RUNS that PART belongs to: that it continues, or else the one that ended last before.
 */
static struct run *run_before(struct run *const *runs, size_t n, const struct run *part)
{
	struct run *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (*runs[i]->id || runs[i]->final || runs[i]->seq >= part->seq ||
		    runs[i]->end > part->start)
			continue;
		if (continues(runs[i], part))
			return runs[i];
		if (!found || runs[i]->end >= found->end)
			found = runs[i];
	}
	return found;
}

/* Makes runs of parts, for which they are taken in order of time. */
static void join(struct host *host)
{
	struct run **parts = get(calloc(host->n_runs + 1, sizeof(*parts))), *run;
	size_t n = 0, runs = 0;

	for (run = host->runs; run; run = run->next)
		parts[n++] = run;
	qsort(parts, n, sizeof(*parts), by_start);
	host->runs = NULL;
	for (size_t i = 0; i < n; i++) {
		run = *parts[i]->id ? NULL : run_before(parts, runs, parts[i]);
		if (run) {
			run->reports += parts[i]->reports;
			take_last(run, parts[i]);
			free(parts[i]);
			continue;
		}
		parts[i]->next = host->runs;
		host->runs = parts[i];
		parts[runs++] = parts[i];
	}
	host->n_runs = runs;
	free(parts);
}

static void limit(struct hosts *h, size_t host, bool named)
{
	const size_t most = named ? MOST_NAMED : MOST_OPEN;
	struct run **at = &h->all[host].runs, *run;

	if (h->all[host].n_runs > most)
		join(&h->all[host]);
	if (h->all[host].n_runs <= most)
		return;
	while ((*at)->next)
		at = &(*at)->next;
	run = *at;
	*at = NULL;
	h->all[host].n_runs--;
	add_run(h, host, run, true);
	free_run(run);
}

static void move(struct line *l, uint64_t by)
{
	l->shift += by;
	l->start += by;
	l->end += by;
}

void hosts_follow(struct hosts *h, struct line *l)
{
	const size_t host = find(h, l->host); /* which may move them all */
	const struct run *run = h->all[host].runs;

	while (run && !span_is(l->run, run->id))
		run = run->next;
	if (l->run.n && run && run->seq < l->seq) {
		move(l, run->shift);
		if (l->start < run->end)
			move(l, run->end - l->start);
	}
	if (l->end < l->start) {
		l->shift += l->start + l->length - l->end;
		l->end = l->start + l->length;
	}
}

bool hosts_have_room(const struct hosts *h, const struct line *l)
{
	return h->n + (l->n_hosts ?: 1) <= HOSTS_MOST;
}

void hosts_add(struct hosts *h, const struct line *l)
{
	/* A report of hist-merge is not one of the host that it ran on. */
	const size_t host = find(h, l->n_hosts ? l->hosts[0].name : l->host);
	struct run next = run_of(h, l), **at = &h->all[host].runs, *run;

	while (*at && !continues(*at, &next))
		at = &(*at)->next;
	run = *at;
	if (run) {
		*at = run->next;
		run->first = next.first < run->first ? next.first : run->first;
		if (next.seq >= run->seq)
			take_last(run, &next);
	} else {
		run = get(malloc(sizeof(*run)));
		*run = next;
		h->all[host].n_runs++;
	}
	run->reports++;
	run->next = h->all[host].runs;
	h->all[host].runs = run;
	limit(h, host, *run->id);
}

void hosts_sum(struct hosts *h)
{
	h->sum = h->over;
	for (size_t i = 0; i < h->n; i++) {
		join(&h->all[i]);
		h->all[i].sum = h->all[i].over;
	}
	for (size_t i = 0; i < h->n; i++)
		for (const struct run *run = h->all[i].runs; run; run = run->next)
			add_run(h, i, run, false);
}

void hosts_free(struct hosts *h)
{
	struct run *run;

	for (size_t i = 0; i < h->n; i++) {
		while ((run = h->all[i].runs)) {
			h->all[i].runs = run->next;
			free_run(run);
		}
		free(h->all[i].name);
	}
	free(h->all);
	json_decref(h->indices);
}
