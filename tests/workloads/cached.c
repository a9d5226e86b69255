/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cached: reads and writes of files of which parts are in the page cache.
 *
 * Before each call and after it the kernel says how many pages are in the page cache (cachestat,
 * from 6.5 on): those of the call's range are its hits, the others of the range its misses, and
 * what has come besides was read ahead.
 */
#include "workload.h"

#define SYS_CACHESTAT 451 /* include/uapi/asm-generic/unistd.h */

const char usage[] =
	"Usage: cached THREADS\n"
	"Each thread reads and writes its own file of 8 MB, parts of which are not in\n"
	"memory, under a name for each kind of call.\n"
	"\n"
	"Gates: ready, go, done, end.\n";

#define SIZE  (8UL << 20)
#define KINDS 7
#define CALLS 101

enum kind { RANDOM, SEQUENTIAL, VECTOR, WRITE, APPEND, DIRECT, END };

static const char *const names[KINDS] = {"k-random", "k-sequential", "k-vector", "k-write",
					 "k-append", "k-direct",     "k-end"};

struct worker {
	pthread_t thread;
	pid_t tid;
	unsigned int number, seed;
	int fd, direct, append;
	char *buffer;
	struct {
		uint64_t count, hits, misses, ahead;
	} kinds[KINDS];
};

static pthread_barrier_t all;
static uint64_t page; /* bytes */

/* Pages of the file that are in the page cache; N 0: up to its end. */
static uint64_t cached(struct worker *w, uint64_t at, uint64_t n)
{
	const uint64_t range[2] = {at, n};
	uint64_t figures[5];

	if (syscall(SYS_CACHESTAT, w->fd, range, figures, 0)) {
		fprintf(stderr, "cachestat: %s\n", strerror(errno));
		exit(WORKLOAD_SKIP);
	}
	return figures[0];
}

static uint64_t any(struct worker *w, uint64_t below)
{
	return rand_r(&w->seed) % below;
}

static void one(struct worker *w, enum kind kind)
{
	uint64_t at = any(w, SIZE - 300000), n = 1 + any(w, 300000);
	const struct iovec v[2] = {{w->buffer, n / 3}, {w->buffer + n / 3, n - n / 3}};
	uint64_t hits, before, pages;
	ssize_t done = -1;

	/* Something is not in memory, now and then. */
	if (!any(w, 3))
		posix_fadvise(w->fd, any(w, SIZE) & -page, any(w, SIZE / 4), POSIX_FADV_DONTNEED);
	if (kind == SEQUENTIAL || kind == END)
		at = lseek(w->fd, kind == END ? (off_t)SIZE - 1000 : 0,
			   kind == END ? SEEK_SET : SEEK_CUR);
	if (kind == SEQUENTIAL)
		n = 1 + any(w, 70000);
	if (kind == END)
		n = 1000;
	if (kind == APPEND) {
		at = lseek(w->append, 0, SEEK_END);
		n = 1 + any(w, 20000);
	}
	pages = (at + n - 1) / page - at / page + 1;
	before = cached(w, 0, 0);
	hits = cached(w, at, n);
	switch (kind) {
	case RANDOM:
		done = pread(w->fd, w->buffer, n, at);
		break;
	case SEQUENTIAL:
		done = read(w->fd, w->buffer, n);
		break;
	case END: /* less is read than what is asked for */
		done = read(w->fd, w->buffer, 300000);
		break;
	case VECTOR:
		done = preadv(w->fd, v, 2, at);
		break;
	case WRITE:
		done = pwrite(w->fd, w->buffer, n, at);
		break;
	case APPEND:
		done = write(w->append, w->buffer, n);
		break;
	case DIRECT:
		done = pread(w->direct, w->buffer, 65536, at & -65536);
		break;
	}
	if (done != (ssize_t)(kind == DIRECT ? 65536 : n))
		die("%s: %zd of %llu bytes: %s", names[kind], done, (unsigned long long)n,
		    strerror(errno));
	w->kinds[kind].count++;
	if (kind == DIRECT)
		return;
	w->kinds[kind].hits += hits;
	w->kinds[kind].misses += pages - hits;
	w->kinds[kind].ahead += cached(w, 0, 0) - before - (pages - hits);
}

static void make(struct worker *w)
{
	char name[64];

	snprintf(name, sizeof(name), "cached-%u.data", w->number);
	w->fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	w->append = open(name, O_WRONLY | O_APPEND | O_CLOEXEC);
	w->direct = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC);
	w->buffer = aligned_alloc(4096, 1 << 20);
	if (w->fd < 0 || w->append < 0 || w->direct < 0 || !w->buffer)
		die("%s: %s", name, strerror(errno));
	memset(w->buffer, 7, 1 << 20);
	for (uint64_t at = 0; at < SIZE; at += 1 << 20)
		if (pwrite(w->fd, w->buffer, 1 << 20, at) != 1 << 20)
			die("%s: %s", name, strerror(errno));
	/* Pages that are dirty cannot be dropped. */
	if (fsync(w->fd) || posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED))
		die("%s: %s", name, strerror(errno));
	cached(w, 0, 0);
	unlink(name);
}

static void *play(void *context)
{
	static const enum kind order[KINDS] = {SEQUENTIAL, RANDOM, VECTOR, DIRECT,
					       END,        WRITE,  APPEND};
	struct worker *w = context;

	w->tid = own_tid();
	w->seed = w->number + 1;
	make(w);
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	for (int k = 0; k < KINDS; k++) {
		rename_self(names[order[k]]);
		for (int i = 0; i < CALLS; i++)
			one(w, order[k]);
	}
	rename_self("cached");
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker *workers;
	uint64_t n;

	help_if_asked(argc, argv);
	if (argc != 2)
		misuse("one argument is needed");
	page = sysconf(_SC_PAGESIZE);
	n = parse_number(argv[1], "THREADS", 1, 64);
	workers = calloc(n, sizeof(*workers));
	if (!workers)
		die("no memory");
	pthread_barrier_init(&all, NULL, n + 1);
	for (uint64_t i = 0; i < n; i++) {
		workers[i].number = i;
		if (pthread_create(&workers[i].thread, NULL, play, &workers[i]))
			die("pthread_create failed");
	}
	pthread_barrier_wait(&all);
	reached("ready");
	gate("go");
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	reached("done");
	gate("end");
	pthread_barrier_wait(&all);
	report_begin();
	for (uint64_t i = 0; i < n; i++)
		for (int k = 0; k < KINDS; k++) {
			put_row_of("function", workers[i].tid, names[k], "io",
				   workers[i].kinds[k].count, 0);
			put(",\"hits\":%llu,\"misses\":%llu,\"ahead\":%llu}",
			    (unsigned long long)workers[i].kinds[k].hits,
			    (unsigned long long)workers[i].kinds[k].misses,
			    (unsigned long long)workers[i].kinds[k].ahead);
		}
	report_end();
	return 0;
}
