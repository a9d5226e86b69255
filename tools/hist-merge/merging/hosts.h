/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hosts: the hosts whose reports are merged, and the sum of the ledgers of their runs.
 *
 * The ledger of a report is that of its whole run so far: of each run only the last counts. Reports
 * with the id of their run are a run, in any order.  Others are one as far as each is the next by
 * number and starts where the one before it ended.  In the sum such parts are one run if a later
 * one can be what follows after reports that are missing, as when files that were rotated are read
 * newest first.
 */
#pragma once

#include "reading/line.h"

/* More are an error. */
#define HOSTS_MOST 65536

struct run_host {
	size_t host; /* its index */
	uint64_t reports, recorded, lost;
	bool lost_unknown; /* LOST has what was seen */
};

/* A run, or a part of one. */
struct run {
	struct run *next;
	char id[33];           /* "": its reports do not say */
	uint64_t first, start; /* the lowest number; of parts the start of that report */
	uint64_t seq, end;     /* of the last report */
	uint64_t shift;        /* it was moved by this */
	bool final;            /* it is the last one of its run */
	uint64_t reports;
	struct ledger ledger;
	struct run_host *hosts; /* of a run of hist-merge; else NULL */
	size_t n_hosts;
};

struct host {
	char *name;
	struct run_host over, sum; /* of runs that are over; of all, by hosts_sum() */
	struct run *runs;          /* that may go on, the latest first */
	size_t n_runs;
};

struct hosts_sum {
	struct ledger ledger;
	uint64_t runs, headless; /* headless: their first report is missing */
};

struct hosts {
	struct host *all;
	size_t n, room;
	json_t *indices; /* by name */
	struct hosts_sum over, sum;
};

/* Whether there is room for the hosts of the report. */
bool hosts_have_room(const struct hosts *h, const struct line *l);
/*
 * A run whose clock was set back goes on where it was, not in times that have passed: moves the
 * report there.
 */
void hosts_follow(struct hosts *h, struct line *l);
void hosts_add(struct hosts *h, const struct line *l);
/* Sets the sums so far. */
void hosts_sum(struct hosts *h);
void hosts_free(struct hosts *h);
