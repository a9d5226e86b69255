/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merging/hosts.h"
#include "reading/memory.h"
#include <stdlib.h>

/*
 * Of a host, runs that may go on, and gaps; the oldest are taken to be over.  With ids, also those
 * that are over are known, since files are read in any order.
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
	h->all[h->n++] = (struct host){.name = text, .over.host = i};
	if (json_object_set_new_nocheck(h->indices, text, json_integer(i)))
		abort();
	return i;
}

static void add_sums(struct run_host *to, const struct run_host *of)
{
	to->reports += of->reports;
	to->recorded = ledger_sum(to->recorded, of->recorded);
	to->lost = ledger_sum(to->lost, of->lost);
	to->lost_unknown |= of->lost_unknown;
}

static void end_run(struct hosts *h, struct run *run)
{
	for (size_t i = 0; i < run->n_hosts; i++)
		add_sums(&h->all[run->hosts[i].host].over, &run->hosts[i]);
	ledger_add(&h->over, &run->ledger);
	free(run->hosts);
	free(run);
}

static bool continues(const struct run *run, const struct line *l)
{
	return run->seq + 1 == l->seq && run->end == l->start;
}

/* The run that the report continues, where the list has it; NULL: none. */
static struct run **find_run(struct host *host, const struct line *l)
{
	struct run **found = NULL, *run;

	for (struct run **at = &host->runs; (run = *at); at = &run->next) {
		if (run->id[0])
			continue;
		if (continues(run, l))
			return at;
		if (!found && run->seq < l->seq && run->end <= l->start)
			found = at;
	}
	return found;
}

/* What the report says of its hosts replaces what the one before it said. */
static void set_hosts(struct hosts *h, size_t host, struct run *run, const struct line *l)
{
	uint64_t reports = run->n_hosts ? run->hosts[0].reports : 0;
	size_t n = l->n_hosts ?: 1;

	if (run->n_hosts != n)
		run->hosts = get(reallocarray(run->hosts, n, sizeof(*run->hosts)));
	run->n_hosts = n;
	for (size_t i = 0; i < l->n_hosts; i++)
		run->hosts[i] = (struct run_host){find(h, l->hosts[i].name), l->hosts[i].reports,
						  l->hosts[i].recorded, l->hosts[i].lost,
						  l->hosts[i].lost_unknown};
	if (!l->n_hosts)
		run->hosts[0] =
			(struct run_host){host, reports + 1, l->ledger.n[LEDGER_RECORDED],
					  l->ledger.n[LEDGER_LOST], l->ledger.unknown[LEDGER_LOST]};
}

static void put_run(struct hosts *h, struct host *host, struct run *run)
{
	size_t n = 0;

	run->next = host->runs;
	host->runs = run;
	for (struct run **at = &host->runs; *at; at = &(*at)->next)
		if (++n > (run->id[0] ? MOST_NAMED : MOST_OPEN)) {
			run = *at;
			*at = NULL;
			end_run(h, run);
			break;
		}
}

static void add_gap(struct host *host, struct run_gap of)
{
	struct run_gap *gap, **at;
	size_t n = 0;

	if (of.seq + 1 >= of.next_seq)
		return;
	gap = get(malloc(sizeof(*gap)));
	*gap = of;
	gap->next = host->gaps;
	host->gaps = gap;
	for (at = &host->gaps; *at && n < MOST_OPEN; at = &(*at)->next)
		n++;
	free(*at);
	*at = NULL;
}

static void remove_gap(struct run_gap **at)
{
	struct run_gap *gap = *at;

	*at = gap->next;
	free(gap);
}

/*
 * Whether the report is one that was missing in the midst of a run.  Its ledger does not count: the
 * run has a later one.
 */
static bool fill_gap(struct host *host, const struct line *l)
{
	struct run_gap **at = &host->gaps, gap;

	while (*at && ((*at)->seq == 0 || l->seq <= (*at)->seq || l->seq >= (*at)->next_seq ||
		       l->start < (*at)->end || l->end > (*at)->start))
		at = &(*at)->next;
	if (!*at || l->final || l->n_hosts)
		return false;
	gap = **at;
	remove_gap(at);
	add_gap(host, (struct run_gap){NULL, gap.seq, gap.end, l->seq, l->start});
	add_gap(host, (struct run_gap){NULL, l->seq, l->end, gap.next_seq, gap.start});
	host->over.reports++;
	return true;
}

/* Whether another run goes on where RUN ends, whose ledger then counts; RUN is freed. */
static bool join(struct hosts *h, struct host *host, struct run *run)
{
	struct run_gap **at = &host->gaps;

	while (*at && ((*at)->seq || (*at)->next_seq != run->seq + 1 || (*at)->start != run->end))
		at = &(*at)->next;
	if (!*at)
		return false;
	remove_gap(at);
	h->runs--;
	h->headless--;
	host->over.reports += run->hosts[0].reports;
	free(run->hosts);
	free(run);
	return true;
}

/* Removes it from the list; NULL: there is none of the id. */
static struct run *take_named(struct host *host, struct span id)
{
	struct run **at = &host->runs, *run;

	while (*at && !span_is(id, (*at)->id))
		at = &(*at)->next;
	run = *at;
	if (run)
		*at = run->next;
	return run;
}

/* The last report has the ledger of the whole run. */
static void add_named(struct hosts *h, size_t host, const struct line *l)
{
	struct run *run = take_named(&h->all[host], l->run);
	const uint64_t reports = run ? run->hosts[0].reports : 0;

	if (!run) {
		run = get(calloc(1, sizeof(*run)));
		memcpy(run->id, l->run.text, l->run.n);
		run->first = UINT64_MAX;
		h->runs++;
		h->headless++;
	}
	h->headless -= l->seq == 1 && run->first != 1;
	run->first = l->seq < run->first ? l->seq : run->first;
	if (l->seq >= run->seq) {
		set_hosts(h, host, run, l);
		run->ledger = l->ledger;
		run->seq = l->seq;
		run->end = l->end;
		run->shift = l->shift;
	}
	run->hosts[0].reports = reports + 1;
	put_run(h, &h->all[host], run);
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
	struct run **at, *run;
	/* A report of hist-merge is not one of the host that it ran on. */
	size_t host = find(h, l->n_hosts ? l->hosts[0].name : l->host);

	if (l->run.n && !l->n_hosts) {
		add_named(h, host, l);
		return;
	}
	at = find_run(&h->all[host], l);
	if (!(at && continues(*at, l)) && fill_gap(&h->all[host], l))
		return;
	if (at) {
		run = *at;
		*at = run->next;
	} else {
		run = get(calloc(1, sizeof(*run)));
		h->runs++;
		h->headless += l->seq > 1;
	}
	if (!l->n_hosts)
		add_gap(&h->all[host],
			(struct run_gap){NULL, run->seq, run->end, l->seq, l->start});
	set_hosts(h, host, run, l);
	run->ledger = l->ledger;
	run->seq = l->seq;
	run->end = l->end;
	if (!l->n_hosts && !l->final && join(h, &h->all[host], run))
		return;
	if (l->final)
		end_run(h, run);
	else
		put_run(h, &h->all[host], run);
}

void hosts_end(struct hosts *h)
{
	struct run *run;

	for (size_t i = 0; i < h->n; i++)
		while ((run = h->all[i].runs)) {
			h->all[i].runs = run->next;
			end_run(h, run);
		}
}

struct ledger hosts_ledger(const struct hosts *h)
{
	struct ledger sum = h->over;

	for (size_t i = 0; i < h->n; i++)
		for (const struct run *run = h->all[i].runs; run; run = run->next)
			ledger_add(&sum, &run->ledger);
	return sum;
}

struct run_host *hosts_sums(const struct hosts *h)
{
	struct run_host *sums = get(calloc(h->n + 1, sizeof(*sums)));

	for (size_t i = 0; i < h->n; i++)
		sums[i] = h->all[i].over;
	for (size_t i = 0; i < h->n; i++)
		for (const struct run *run = h->all[i].runs; run; run = run->next)
			for (size_t j = 0; j < run->n_hosts; j++)
				add_sums(&sums[run->hosts[j].host], &run->hosts[j]);
	return sums;
}

void hosts_free(struct hosts *h)
{
	hosts_end(h);
	for (size_t i = 0; i < h->n; i++) {
		free(h->all[i].name);
		while (h->all[i].gaps)
			remove_gap(&h->all[i].gaps);
	}
	free(h->all);
	json_decref(h->indices);
}
