/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cached: what the kernel says of the pages of a file of cached.c. */
#pragma once

#include "userfault.h"

#define SYS_CACHESTAT 451 /* include/uapi/asm-generic/unistd.h */

#define SIZE  (4UL << 20)
#define CALLS 53
#define PAGES (SIZE / 4096) /* at most */

/* In this order. */
enum kind {
	MAPPED,
	SEQUENTIAL,
	PAIR,
	RANDOM,
	VECTOR,
	SENDFILE,
	SPLICE,
	DIRECT,
	END,
	WRITE,
	SPLICED_OUT,
	COPY,
	FAULTED,
	APPEND, /* last: the file becomes longer than what is looked at */
	KINDS
};

static const char *const names[KINDS] = {"k-mapped",  "k-sequential", "k-pair",        "k-random",
					 "k-vector",  "k-sendfile",   "k-splice",      "k-direct",
					 "k-end",     "k-write",      "k-spliced-out", "k-copy",
					 "k-faulted", "k-append"};

struct worker {
	pthread_t thread;
	pid_t tid;
	unsigned int number, seed;
	int fd, direct, append, null, copy, pagemap, pipe[2];
	char *buffer, *map;
	unsigned char is_in[PAGES];
	unsigned char
		ahead[PAGES]; /* 1 + the kind of the call that read it ahead; 0: used, or not */
	uint64_t pair;        /* the page that was read last */
	uint64_t mapped;      /* pages that page faults added */
	struct {
		uint64_t count, hits, misses, ahead, unused, pending;
	} kinds[KINDS];
};

static pthread_barrier_t all;
static uint64_t page; /* bytes */

/* Pages of FD's file that are in the page cache; N 0: up to its end. */
static inline uint64_t cached_of(int fd, uint64_t at, uint64_t n)
{
	const uint64_t range[2] = {at, n};
	uint64_t figures[5];

	if (syscall(SYS_CACHESTAT, fd, range, figures, 0)) {
		fprintf(stderr, "cachestat: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
	return figures[0];
}

static inline uint64_t cached(struct worker *w, uint64_t at, uint64_t n)
{
	return cached_of(w->fd, at, n);
}

static inline uint64_t any(struct worker *w, uint64_t below)
{
	return rand_r(&w->seed) % below;
}

#define OUTSIDE KINDS

/*
 * Finds out what has changed since, by a call of KIND of N pages from FIRST on; returns how many
 * pages have come besides.
 */
static inline uint64_t look(struct worker *w, unsigned int kind, uint64_t first, uint64_t n)
{
	unsigned char now[PAGES];
	uint64_t in, i, besides = 0;

	do { /* what is being read is in the page cache, but not yet in memory */
		if (mincore(w->map, SIZE, now))
			die("mincore: %s", strerror(errno));
		for (i = in = 0; i < SIZE / page; i++)
			in += now[i] & 1;
	} while (in != cached(w, 0, SIZE) && !usleep(100));
	for (i = 0; i < SIZE / page; i++) {
		if (!(now[i] & 1)) {
			if (w->ahead[i])
				w->kinds[w->ahead[i] - 1].unused++;
			w->ahead[i] = 0;
		} else if (kind != OUTSIDE && i >= first && i < first + n) {
			w->ahead[i] = 0;
		} else if (!w->is_in[i]) {
			w->ahead[i] = kind == OUTSIDE ? 0 : kind + 1;
			besides++;
		}
		w->is_in[i] = now[i] & 1;
	}
	return besides;
}

/* Pages that are mapped cannot be dropped. */
static inline void unmap_pages(struct worker *w)
{
	if (madvise(w->map, SIZE, MADV_DONTNEED))
		die("madvise: %s", strerror(errno));
}

/* All pages are read by page faults. */
static inline void touch(struct worker *w)
{
	const uint64_t before = cached(w, 0, 0);
	volatile char *map = w->map;

	rename_self("k-touch");
	for (uint64_t at = 0; at < SIZE; at += page)
		(void)map[at];
	w->mapped += cached(w, 0, 0) - before;
	rename_self(names[MAPPED]);
	memset(w->ahead, 0, sizeof(w->ahead));
	unmap_pages(w);
}

/* What is mapped counts as used, also what a page fault maps besides. */
static inline void use_mapped(struct worker *w)
{
	uint64_t entries[PAGES];

	if (pread(w->pagemap, entries, SIZE / page * 8, (uintptr_t)w->map / page * 8) !=
	    (ssize_t)(SIZE / page * 8))
		die("pagemap: %s", strerror(errno));
	for (uint64_t i = 0; i < SIZE / page; i++)
		if (entries[i] >> 63)
			w->ahead[i] = 0;
	unmap_pages(w);
}
