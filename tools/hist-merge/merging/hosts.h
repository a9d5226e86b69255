/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hosts: the hosts whose reports are merged, and the sum of the ledgers of their runs.
 *
 * The ledger of a report is that of its whole run so far: of each run only the last counts.  A
 * report continues a run of its host if its number is the next and it starts where the run's last
 * one ended; if there is none such, the run of its host that ended last before it, of which reports
 * are missing.  Otherwise it begins a run.  Where a run ends as another one began whose first
 * reports were missing, as files that were rotated are read newest first, both are one; and a
 * report that is one of those that are missing of a run belongs to it.  Reports with the id of
 * their run need none of this: those of one id are a run, in any order.
 */
#ifndef HOSTS_H
#define HOSTS_H

#include "reading/line.h"

/* More are an error. */
#define HOSTS_MOST 65536

struct run_host {
	size_t host; /* its index */
	uint64_t reports, recorded, lost;
	bool lost_unknown; /* LOST has what was seen */
};

struct run {
	struct run *next;
	uint64_t seq, end;
	char id[33];    /* "": its reports do not say */
	uint64_t first; /* with an id, the lowest number of its reports */
	uint64_t shift; /* its last report was moved by this */
	struct ledger ledger;
	struct run_host *hosts; /* one, but for a run of hist-merge */
	size_t n_hosts;
};

/* Reports of a run that were not read yet: after number SEQ, 0: from the first one, to NEXT_SEQ. */
struct run_gap {
	struct run_gap *next;
	uint64_t seq, end, next_seq, start;
};

struct host {
	char *name;
	struct run_host over; /* of runs that are over */
	struct run *runs;     /* that may go on, the latest first */
	struct run_gap *gaps; /* the latest first */
};

struct hosts {
	struct host *all;
	size_t n, room;
	json_t *indices;         /* by name */
	struct ledger over;      /* of runs that are over */
	uint64_t runs, headless; /* runs; of these: their first report is missing */
};

/* Whether there is room for the hosts of the report. */
bool hosts_have_room(const struct hosts *h, const struct line *l);
/*
 * A run whose clock was set back goes on where it was, not in times that have passed: moves the
 * report there.
 */
void hosts_follow(struct hosts *h, struct line *l);
void hosts_add(struct hosts *h, const struct line *l);
/* All runs are over. */
void hosts_end(struct hosts *h);
/* The sum so far; and of each host, an array of h->n that the caller frees. */
struct ledger hosts_ledger(const struct hosts *h);
struct run_host *hosts_sums(const struct hosts *h);
void hosts_free(struct hosts *h);

#endif
